"""Machine code as text and as figures: nvdisasm's view of a cubin, and what orias' own listing says."""
import pathlib
import re
import struct

import tools

WORD = 16  # bytes of one instruction
NOP = 0x918  # the low 12 bits of a NOP, which pads functions to their alignment

LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
BAD_WORD = re.compile(r"at address 0x([0-9a-f]+)")


def instruction_count(code):
    """How many instructions a function has, NOPs aside."""
    return sum(1 for (low,) in struct.iter_unpack("<Q8x", code) if low & 0xFFF != NOP)


def squeeze(text):
    """Instruction text with all spaces gone, for comparisons that do not care about columns."""
    return re.sub(r"\s+", "", text)


def disassemble(nvdisasm, code, sm, scratch):
    """Runs nvdisasm on raw code. Returns ({address: text}, [addresses that it refuses]).

    nvdisasm stops at the first word that it does not know, so such words are replaced by NOPs until it gets through.
    """
    code, refused = bytearray(code), []
    path = pathlib.Path(scratch)
    while True:
        path.write_bytes(code)
        outcome = tools.run([nvdisasm, "-b", sm.replace("sm_", "SM"), str(path)])
        if outcome.ok:
            break
        found = BAD_WORD.search(outcome.errors)
        if not found or len(refused) >= 1000:
            raise RuntimeError(f"nvdisasm: {outcome.errors.strip() or outcome.status}")
        address = int(found.group(1), 16)
        refused.append(address)
        code[address : address + WORD] = struct.pack("<QQ", 0x0000000000007918, 0x000FC00000000000)
    path.unlink()
    return {int(m.group(1), 16): m.group(2) for m in LINE.finditer(outcome.output)}, refused

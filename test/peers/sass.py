"""Machine code as text and as figures: nvdisasm's output for a cubin, and our listing."""
import pathlib
import re
import struct

import tools

WORD = 16  # bytes of one instruction
NOP = 0x918  # the low 12 bits of a NOP, which pads functions to their alignment
NOP_WORD = struct.pack("<QQ", 0x0000000000007918, 0x000FC00000000000)

LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
BAD_WORD = re.compile(r"at address 0x([0-9a-f]+)")


def instruction_count(code):
    """The number of instructions of a function, without NOPs."""
    return sum(1 for (low,) in struct.iter_unpack("<Q8x", code) if low & 0xFFF != NOP)


def squeeze(text):
    """Instruction text without spaces, for comparisons that ignore columns."""
    return re.sub(r"\s+", "", text)


def disassemble(nvdisasm, code, sm, scratch):
    """Runs nvdisasm on raw code. Returns ({address: text}, None), or (None, address) of the first word that it refuses."""
    path = pathlib.Path(scratch)
    path.write_bytes(code)
    outcome = tools.run([nvdisasm, "-b", sm.replace("sm_", "SM"), str(path)], 600)
    path.unlink()
    if outcome.ok:
        return {int(m.group(1), 16): m.group(2) for m in LINE.finditer(outcome.output)}, None
    if found := BAD_WORD.search(outcome.errors):
        return None, int(found.group(1), 16)
    raise RuntimeError(f"nvdisasm: {outcome.errors.strip() or outcome.status}")


class Batch:
    """Functions of many cubins, disassembled in one run: starting nvdisasm takes as long as disassembling 15000 words."""

    def __init__(self, nvdisasm, sm, scratch):
        self.nvdisasm, self.sm, self.scratch = nvdisasm, sm, scratch
        self.code, self.functions = bytearray(), []

    def add(self, code):
        """Appends a function; returns its address in the batch."""
        base = len(self.code)
        self.functions.append((base, len(code)))
        self.code += code
        return base

    def run(self):
        """({address: text} of the whole batch, {addresses that nvdisasm refuses}).

        nvdisasm stops at the first unknown word. Such a word is replaced by a NOP, and its function is tried separately
        until it succeeds, before the batch is run again.
        """
        refused = set()
        while True:
            texts, bad = disassemble(self.nvdisasm, self.code, self.sm, self.scratch)
            if texts is not None:
                return texts, refused
            base, size = next((base, size) for base, size in self.functions if base <= bad < base + size)
            while bad is not None:
                refused.add(bad)
                self.code[bad : bad + WORD] = NOP_WORD
                alone = disassemble(self.nvdisasm, self.code[base : base + size], self.sm, self.scratch)[1]
                bad = None if alone is None else base + alone

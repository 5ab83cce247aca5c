#!/usr/bin/env python3
"""isa_random.py BUILD/isa_random [CHIP [SEED [COUNT]]]: random instructions of each row of the table, against nvdisasm.

Both must print the same text. Words that nvdisasm refuses are counted but are not failures, because the table does not
exclude every combination of modifiers that the hardware does not have. Branches are left out, because nvdisasm's
addresses depend on which neighboring words it refused. Prints that it was skipped if there is no nvdisasm. Exit status
1: a text differs.
"""
import collections
import re
import struct
import subprocess
import sys
import tempfile

import tools

LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x")
BRANCH = re.compile(r"(@!?U?P\w+ )?(BRA|BRX|BSSY|CALL|RET|LEPC|WARPSYNC\.COLLECTIVE)\b")
BATCH = 64


def disassemble(nvdisasm, chip, words, scratch):
    """The text of nvdisasm for each word; None if it refuses the word."""
    scratch.seek(0)
    scratch.truncate()
    scratch.write(b"".join(struct.pack("<QQ", *word) for word in words))
    scratch.flush()
    result = subprocess.run([nvdisasm, "-b", chip.upper().replace("_", ""), "-hex", "-ndf", scratch.name], capture_output=True, text=True)
    if result.returncode == 0:
        texts = [None] * len(words)
        for match in filter(None, map(LINE.match, result.stdout.splitlines())):
            texts[int(match[1], 16) // 16] = match[2]
        return texts
    if len(words) == 1:
        return [None]
    where = re.search(r"at address 0x([0-9a-f]+)", result.stderr)
    bad = int(where[1], 16) // 16 if where else len(words) // 2
    before = disassemble(nvdisasm, chip, words[:bad], scratch) if bad else []
    if where:
        rest = words[bad + 1:]
        return before + [None] + (disassemble(nvdisasm, chip, rest, scratch) if rest else [])
    return before + disassemble(nvdisasm, chip, words[bad:], scratch)


def main():
    nvdisasm = tools.find("nvdisasm")
    if not nvdisasm:
        print("skipped, no peer: nvdisasm is needed")
        return 0
    chip, *how_many = sys.argv[2:] or ["sm_90"]
    made = subprocess.run([sys.argv[1], chip, *(how_many or ["1", "1"])], capture_output=True, text=True)
    if made.returncode:
        print(made.stderr, end="")
        return 1
    lines = [line.split(" ", 3) for line in made.stdout.splitlines()]
    lines = [line for line in lines if not BRANCH.match(line[3])]
    refused, different = collections.Counter(), []
    with tempfile.NamedTemporaryFile() as scratch:
        for start in range(0, len(lines), BATCH):
            batch = lines[start:start + BATCH]
            texts = disassemble(nvdisasm, chip, [(int(low, 16), int(high, 16)) for low, high, _, _ in batch], scratch)
            for (low, high, name, ours), theirs in zip(batch, texts):
                if theirs is None or "INVALID" in theirs or "???" in theirs:
                    refused[name] += 1
                elif theirs.replace(" ", "") != ours.replace(" ", ""):
                    different.append(f"{name} {low} {high}\n  ours      {ours}\n  nvdisasm  {theirs}")
    print(f"{len(lines)} words, {len(different)} differences, {sum(refused.values())} refused:",
          ", ".join(f"{name} {count}" for name, count in refused.most_common(20)))
    for text in different:
        print(text)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

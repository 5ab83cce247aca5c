#!/usr/bin/env python3
"""facts_test.py ORIAS NAMED_BARRIERS.ptx: the comparison of launch facts detects a manually changed number of barriers
and offset of a parameter, and no difference between a cubin and itself. Needs no peer."""
import pathlib
import struct
import subprocess
import sys
import tempfile

import compare
import elf

orias, source = sys.argv[1:]
with tempfile.TemporaryDirectory() as scratch:
    path = pathlib.Path(scratch) / "a.cubin"
    subprocess.run([orias, source, "-o", path], check=True)
    cubin = path.read_bytes()
assert compare.fact_differences(cubin, cubin) == []
assert elf.launch_facts(cubin)["sixth"]["NUM_BARRIERS"] == ["0600"]

barriers = bytes([2, 0x4C, 6, 0])
assert cubin.count(barriers) == 1
fewer = cubin.replace(barriers, bytes([2, 0x4C, 5, 0]))
assert compare.fact_differences(fewer, cubin) == ["sixth: NUM_BARRIERS ['0500'], ptxas ['0600']"]
assert compare.fact_differences(cubin, fewer) == []  # more are accepted
none = cubin.replace(barriers, bytes([2, 0x5F, 6, 0]))  # another attribute in its place
assert any("NUM_BARRIERS None" in d for d in compare.fact_differences(none, cubin))
assert not any("NUM_BARRIERS" in d for d in compare.fact_differences(cubin, none))

size = struct.pack("<BBH", 3, 0x19, 8)
assert cubin.count(size) >= 1
assert any("CBANK_PARAM_SIZE" in d for d in compare.fact_differences(cubin.replace(size, struct.pack("<BBH", 3, 0x19, 16)), cubin))
print("differences are seen")

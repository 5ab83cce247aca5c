#!/usr/bin/env python3
"""isa_roundtrip.py BUILD/isa_words [--chip sm_NN] [CUBIN...]: decodes, encodes, prints and parses every word of real
cubins.

Without cubins, ptxas makes them from the corpus. Our text of each word must be that of nvdisasm. Prints that it was
skipped if the peers are missing. Each distinct word is checked once; figures by instruction count all occurrences. Exit
status 1: a decoded word encodes, prints or parses to something else, or fewer than 99 % of the instructions decode.
"""
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tools

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "corpus" / "ptx"
FIRST = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/")
SECOND = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")


def words(nvdisasm, cubin):
    """(low, high, text) of each instruction of a cubin."""
    listing = subprocess.run([nvdisasm, "-c", "-hex", "-ndf", cubin], capture_output=True, text=True, check=True).stdout
    pending = None
    for line in listing.splitlines():
        if match := FIRST.match(line):
            pending = match.groups()
        elif pending and (match := SECOND.match(line)):
            yield pending[1], match[1], pending[0]
            pending = None


def main():
    program, *cubins = sys.argv[1:]
    chip = "sm_90"
    if cubins[:1] == ["--chip"]:
        chip, cubins = cubins[1], cubins[2:]
    nvdisasm, ptxas = tools.find("nvdisasm"), tools.find("ptxas")
    if not nvdisasm or not (cubins or ptxas):
        print("skipped, no peer: nvdisasm" + ("" if cubins else " and ptxas") + " are needed")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        if not cubins:
            for ptx in sorted(CORPUS.glob("*.ptx")):
                cubin = pathlib.Path(scratch) / (ptx.stem + ".cubin")
                if subprocess.run([ptxas, f"-arch={chip}", ptx, "-o", cubin], capture_output=True).returncode == 0:
                    cubins.append(cubin)
        counts = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(lambda cubin: collections.Counter(words(nvdisasm, cubin)), cubins):
                counts += found
    lines = "".join(f"{count} {' '.join(word)}\n" for word, count in sorted(counts.items()))
    result = subprocess.run([program, "/dev/stdin", "40", chip], input=lines, capture_output=True, text=True)
    print(f"{len(cubins)} cubins")
    print(result.stdout, end="")
    share = float(re.search(r"^instructions .*\(([\d.]+)%\)", result.stdout, re.MULTILINE)[1])
    return 1 if result.returncode or share < 99 else 0


if __name__ == "__main__":
    sys.exit(main())

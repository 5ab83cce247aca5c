#!/usr/bin/env python3
"""forms.py BUILD/orias_forms BUILD/orias-dis BUILD/hazard_cubins [--arch sm_NN,...] [--op PREFIX]: nvdisasm reads every
form.

orias_forms makes a cubin of each form of each PTX instruction on each chip. nvdisasm must accept each of their words
and print the text of our listing, and hazard_cubins must find no hazard. Prints that it was skipped if there is no
nvdisasm. Exit status 1: a word is refused or printed differently; a hazard; or an intentional change of a listing is
not detected.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import elf
import listing
import sass
import tools

BATCH_BYTES = 1 << 22


def listed(dis, cubin):
    """[(code, our listing of it)] of a cubin's functions."""
    text = subprocess.run([dis, "--listing-format=plain", cubin], capture_output=True, text=True, check=True).stdout
    ours = listing.parse(text)
    return [(code, ours[name]) for name, code in elf.code(cubin.read_bytes()).items()]


def differences(functions, texts, refused):
    """The words that nvdisasm refuses or prints differently; functions are (address, size, {address: our text})."""
    found = []
    for base, size, ours in functions:
        for address in range(base, base + size, sass.WORD):
            theirs = "(refused)" if address in refused else texts.get(address, "(nothing)")
            if sass.squeeze(theirs) != sass.squeeze(ours.get(address, "(nothing)")):
                found.append((ours.get(address, "(nothing)"), theirs))
    return found


def check_batch(functions, nvdisasm, chip, scratch):
    """(words, differences) of [(code, listing)]; raises AssertionError if a changed listing is not detected."""
    batch = sass.Batch(nvdisasm, chip, scratch)
    placed = [(batch.add(code), len(code), ours) for code, ours in functions]
    placed = [(base, size, ours.at(base)) for base, size, ours in placed]
    texts, refused = batch.run()
    found = differences(placed, texts, refused)
    base, size, ours = placed[0]
    changed = {address: text + ".X" if address == base else text for address, text in ours.items()}
    assert len(differences([(base, size, changed)], texts, refused)) > len(differences(placed[:1], texts, refused))
    return len(batch.code) // sass.WORD, found


def check_chip(options, nvdisasm, chip, scratch):
    """Prints the errors in the forms of a chip. Returns whether there are any."""
    folder = scratch / chip
    command = [options.forms, "--arch", chip, "--cubins", folder] + (["--op", options.op] if options.op else [])
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    cubins = sorted(folder.iterdir())
    words, found, waiting = 0, [], []

    def flush():
        nonlocal words
        count, more = check_batch(waiting, nvdisasm, chip, scratch / "batch.bin")
        words += count
        found.extend(more)
        waiting.clear()

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for functions in pool.map(lambda cubin: listed(options.dis, cubin), cubins):
            waiting += functions
            if sum(len(code) for code, _ in waiting) >= BATCH_BYTES:
                flush()
    if waiting:
        flush()
    hazards = subprocess.run([options.hazards, *cubins], capture_output=True, text=True)
    print(f"{chip}: {len(cubins)} cubins, {words} words, {len(found)} refused or printed differently")
    for ours, theirs in sorted(set(found))[:20]:
        print(f"  ours {ours!r}, nvdisasm {theirs!r}")
    print("  " + hazards.stdout.strip().replace("\n", "\n  "))
    for cubin in cubins:
        cubin.unlink()
    return bool(found) or hazards.returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("forms", "dis", "hazards"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--arch", default="sm_75,sm_80,sm_86,sm_87,sm_88,sm_89,sm_90,sm_90a", help="chips, with commas")
    parser.add_argument("--op", help="only instructions that begin so")
    options = parser.parse_args()
    nvdisasm = tools.find("nvdisasm")
    if not nvdisasm:
        print("skipped, no nvdisasm")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        wrong = [check_chip(options, nvdisasm, chip, pathlib.Path(scratch)) for chip in options.arch.split(",")]
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())

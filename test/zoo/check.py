#!/usr/bin/env python3
"""check.py ORIAS HAZARD_CUBINS [FILE_OR_FOLDER...]: the stored PTX assembles, each phase verifies, no hazards, nvdisasm
agrees.

Without files it uses ptx/. Prints that nvdisasm was skipped if there is none. Exit status 1 reports the failures. An
intentional change of a listing must be detected, too.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import measure
from measure import compare, tools

HERE = pathlib.Path(__file__).resolve().parent


def assemble(source, orias, scratch):
    """A Comparison of a file that is assembled, with verification after each phase."""
    options = measure.argparse.Namespace(orias=orias, arch=measure.chip_of(source), flags=["--verify-each", *measure.flags_of(source)],
                                         nvdisasm=tools.find("nvdisasm"), ptxas_cubins=None, limit=120)
    options.self = None
    found = compare.Comparison(source, source.parents[1], scratch, options)
    found.assemble()
    found.disassembly()
    return found


def notices_changes(found, scratch):
    """Whether a changed listing is reported."""
    if not found.functions:
        return True
    name, code, ours = found.functions[0]
    ours.rows = {address: text + ".X" for address, text in ours.rows.items()}
    found.functions = [(name, code, ours)]
    compare.disassemble_batch([found], found.sm, scratch, found.options)
    return bool(found.row["listing_differences"])


def main():
    orias, hazard_cubins = sys.argv[1:3]
    files = [f for path in map(pathlib.Path, sys.argv[3:] or [HERE / "ptx"]) for f in (sorted(path.rglob("*.ptx")) if path.is_dir() else [path])]
    wrong, words = [], 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda file: assemble(file.resolve(), orias, scratch), files))
        wrong += [f"{c.name}: {reason}" for c in done for reason in c.row.get("reasons", {})]
        cubins = [c.cubin for c in done if c.row["assemble"]]
        if not cubins:
            sys.exit("no file assembles")
        hazards = subprocess.run([hazard_cubins, *cubins], capture_output=True, text=True, check=False)
        if hazards.returncode:
            wrong.append(hazards.stdout)
        if not tools.find("nvdisasm"):
            print("skipped, no peer: nvdisasm")
        else:
            disassembly = compare.Disassembly(scratch, done[0].options)
            kept = next(c.functions for c in done if c.row["assemble"])
            for comparison in done:
                disassembly.add(comparison)
            disassembly.finish()
            words = sum(c.row.get("words", 0) for c in done)
            wrong += [f"{c.name}: {text}" for c in done for text in c.row.get("refused_words", []) + c.row.get("listing_differences", [])]
            first = next(c for c in done if c.row["assemble"])
            first.functions = kept
            if not notices_changes(first, scratch):
                wrong.append("a listing that was changed is said to be nvdisasm's")
    print("\n".join(wrong[:40]))
    print(f"{len(files)} files, {words} words, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What each optional phase contributes: instructions in the code, instructions executed and cycles without it, as a table.

    contributions.py --orias-run build/release/bin/orias-run [--every N] [--markdown docs/phases.md] [LAUNCH.json...]

Each line is the ratio "without / with" (geometric mean over the launches, on the emulator, and over their PTX files for
the static count): above 1 is what the phase saves. Phases that save nothing here may be needed by others, or for code
that no launch has.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import dynamic

LEVEL = "-O3"
# Phases that do each other's work when one is missing: what they save together.
TOGETHER = {"all GeneralOptimize": ("13", "29", "37", "46", "58", "65"), "both schedulers": ("97", "110")}


def program_of(launch):
    return (launch.parent / json.loads(launch.read_text())["file"]).resolve()


def static_size(orias, program, disabled, scratch):
    """Instructions of all functions but the NOPs behind their ends; None when it does not assemble."""
    listing = pathlib.Path(scratch) / f"{program.stem}.{'-'.join(disabled)}.txt"
    words = [word for phase in disabled for word in ("--disable-phase", phase)]
    output = ["-o", f"{listing}.cubin", f"--listing={listing}", "--listing-format=plain"]
    done = subprocess.run([orias, "-arch=sm_90", LEVEL, *words, program, *output], capture_output=True, check=False)
    if done.returncode != 0:
        return None
    lines = listing.read_text().splitlines()
    return {"static": float(sum(line.lstrip().startswith("/*") and "NOP" not in line for line in lines))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias-run", required=True)
    parser.add_argument("--every", type=int, default=1, help="take each so many launches only")
    parser.add_argument("--phases", nargs="+", help="these phases instead of all optional ones")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table there")
    parser.add_argument("launches", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    files = (options.launches or dynamic.launches())[:: options.every]
    programs = sorted({program_of(file) for file in files})
    orias = pathlib.Path(options.orias_run).with_name("orias")

    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def measure(*disabled):
            words = [word for phase in disabled for word in ("--disable-phase", phase)]
            command = [options.orias_run, "--assemble", *words]
            run = dict(zip(files, pool.map(lambda file: dynamic.figures([*command, str(file)]), files)))
            sizes = pool.map(lambda program: static_size(orias, program, disabled, scratch), programs)
            return run, dict(zip(programs, sizes))

        def mean(some, others, name):
            found = dynamic.ratios(some, others, name).values()
            return f"{dynamic.mean(found):.3f}" if found else "-"

        run, sizes = measure()
        rows = ["| phase | instructions in the code | instructions executed | estimated cycles |", "|---|---:|---:|---:|"]
        lines = [((number,), name) for number, name in dynamic.optional_phases(orias)]
        lines += [(numbers, name) for name, numbers in TOGETHER.items()]
        for numbers, name in lines:
            if options.phases and not set(numbers) & set(options.phases):
                continue
            without, smaller = measure(*numbers)
            cells = [mean(smaller, sizes, "static"), mean(without, run, "instructions"), mean(without, run, "cycles")]
            rows.append(f"| {', '.join(numbers)} {name} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    if options.markdown:
        heading = (
            "# What each phase contributes\n\nThe ratio of instructions and cycles without the phase to those with all "
            f"phases, at {LEVEL}, as geometric means over {len(files)} launches of the\ncorpus on the emulator and their "
            f"{len(programs)} PTX files: a value above 1 is a gain of the phase. Written by\n`test/bench/contributions.py "
            f"--orias-run build/release/bin/orias-run --every {options.every} --markdown docs/phases.md`.\n\n"
        )
        options.markdown.write_text(heading + "\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

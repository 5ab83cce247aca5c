#!/usr/bin/env python3
"""Counts what the launches execute on the emulator: our cubins against those of ptxas, and against ours without a phase.

    dynamic.py --orias-run build/release/bin/orias-run [--each-phase] [--disable PHASE...] [LAUNCH.json...]

Ratios of warp instructions and of estimated cycles (an estimate of ours: tools/emulator/README.md), as geometric means
over the launches that run both ways; below 1 is better than the other. With --each-phase each optional phase is left
out in turn: above 1 is what the phase saves. Without launches, those of test/corpus and examples.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "peers"))
import tools  # noqa: E402

FIGURES = {"instructions": "warp instructions", "cycles": "estimated cycles"}


def launches():
    return sorted((HERE.parent / "corpus" / "launches").glob("*.json")) + sorted((ROOT / "examples").glob("*.json"))


def figures(command):
    """The figures of one run; None if it does not end with the expected results."""
    done = subprocess.run([*command, "--stats", "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    stats = json.loads(done.stdout)["stats"]
    return {name: float(stats[key]) for name, key in FIGURES.items()}


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def ratios(some, others, name):
    """By launch, where both ran and counted something."""
    both = [k for k in some if some[k] and others.get(k) and some[k][name] > 0 and others[k][name] > 0]
    return {k: some[k][name] / others[k][name] for k in both}


def tell(title, some, others):
    columns, instructions = [], {}
    for name in FIGURES:
        found = ratios(some, others, name)
        if name == "instructions":
            instructions = found
        columns.append(f"{name} {mean(found.values()):6.3f}" if found else f"{name}      -")
    print(f"{title:44} {len(instructions):4} launches   {'   '.join(columns)}", flush=True)
    return instructions


def optional_phases(orias):
    text = subprocess.run([orias, "--list-phases"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return [(row[0], row[1]) for row in rows if len(row) > 3 and row[3] == "optional"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias-run", default=tools.find("orias-run"))
    parser.add_argument("--each-phase", action="store_true", help="leave out each optional phase in turn")
    parser.add_argument("--disable", nargs="+", default=[], metavar="PHASE", help="leave out these phases, all at once")
    parser.add_argument("--worst", type=int, default=10, help="how many of the worst launches are named")
    parser.add_argument("launches", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if not options.orias_run:
        parser.error("no orias-run: give --orias-run")
    files = options.launches or launches()

    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:

        def ours(*disabled):
            words = [word for phase in disabled for word in ("--disable-phase", phase)]
            command = [options.orias_run, "--assemble", *words]
            return dict(zip(files, pool.map(lambda file: figures([*command, str(file)]), files)))

        def theirs(file):
            program = (file.parent / json.loads(file.read_text())["file"]).resolve()
            cubin = pathlib.Path(scratch) / f"{file.stem}.cubin"
            made = subprocess.run(["ptxas", "-arch=sm_90", program, "-o", cubin], capture_output=True, check=False)
            return figures([options.orias_run, str(file), str(cubin)]) if made.returncode == 0 else None

        all_phases = ours()
        if tools.find("ptxas"):
            by_launch = tell("ours / ptxas", all_phases, dict(zip(files, pool.map(theirs, files))))
            for file, ratio in sorted(by_launch.items(), key=lambda item: -item[1])[: options.worst]:
                print(f"    {file.stem:40} {ratio:6.3f}")
        else:
            print("ptxas is not here: nothing to compare with")
        if options.disable:
            tell(f"without {' '.join(options.disable)} / with", ours(*options.disable), all_phases)
        if options.each_phase:
            orias = pathlib.Path(options.orias_run).with_name("orias")
            for number, name in optional_phases(orias):
                tell(f"without {number} {name} / with", ours(number), all_phases)
    return 0


if __name__ == "__main__":
    sys.exit(main())

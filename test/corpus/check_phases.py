#!/usr/bin/env python3
"""Runs the launches of the corpus under --check-each with each optional phase left out in turn: what is still there must be right
without it, after every phase.

    check_phases.py --orias build/release/bin/orias [--phase NUMBER...] [-O N...] [--uniform] [--jobs N] [LAUNCH.json...]

Without --phase: all of them, and once with nothing left out. Without launches: those of the corpus and of examples/, but for the ones
that the interpreter does not run (launches/unsupported.txt). With --uniform, --check-uniform as well. Exits with 1 when one is wrong.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# A launch that traps, and one whose results are addresses of module variables: the interpreter has them elsewhere.
NOT_ABOUT_PHASES = ("there is nothing to compare with", "lowering: the first state that gives another result",
                    "3 AnalyzeControlFlow: the first state that gives another result")  # without phase 0


def all_launches():
    return sorted((HERE / "launches").glob("*.json")) + sorted((ROOT / "examples").glob("*.json"))


def unsupported():
    lines = (HERE / "launches" / "unsupported.txt").read_text(encoding="utf-8").splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def optional_phases(orias):
    text = subprocess.run([orias, "--list-phases"], capture_output=True, text=True, check=True).stdout
    return [row[0] for row in map(str.split, text.splitlines()) if len(row) > 3 and row[3] == "optional"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias", required=True)
    parser.add_argument("--phase", nargs="+", help="only these are left out, one by one")
    parser.add_argument("-O", nargs="+", default=["3"], dest="levels", metavar="N", help="at these levels")
    parser.add_argument("--uniform", action="store_true", help="--check-uniform, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("launches", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    skipped = unsupported()
    launches = options.launches or [file for file in all_launches() if file.stem not in skipped]
    phases = options.phase or ["", *optional_phases(options.orias)]
    checks = ["--check-each", *(["--check-uniform"] if options.uniform else [])]

    def run(job):
        phase, level, check, launch = job
        program = (launch.parent / json.loads(launch.read_text(encoding="utf-8"))["file"]).resolve()
        words = ["--disable-phase", phase] if phase else []
        command = [options.orias, "-arch=sm_90a", f"-O{level}", f"{check}={launch}", *words, str(program)]
        return job, command, subprocess.run(command, capture_output=True, text=True, check=False)

    jobs = [(p, level, check, launch) for p in phases for level in options.levels for check in checks for launch in launches]
    good, bad, without = collections.Counter(), [], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (phase, *_), command, done in pool.map(run, jobs):
            if done.returncode == 0:
                good[phase] += 1
            elif any(text in done.stdout + done.stderr for text in NOT_ABOUT_PHASES):
                without[phase] += 1
            else:
                bad.append(phase)
                print(f"{' '.join(command)}\n{done.stdout}{done.stderr}", flush=True)
    for phase in phases:
        print(f"without {phase or 'nothing':8} {good[phase]:6} good {bad.count(phase):4} wrong {without[phase]:4} that no phase is tested by")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

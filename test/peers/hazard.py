#!/usr/bin/env python3
"""hazard.py BUILD/hazard_cubins BUILD/rewrite_cubins: the hazard checker and the scheduler, on ptxas' code for the
corpus.

The checker must find no hazard in ptxas' code, must detect most of the intentionally broken control words, and must
pass ptxas' code after orias has rescheduled it. This includes chips from sm_100 on. Prints that it was skipped if there
is no ptxas.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import tools

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "corpus" / "ptx"
NEWER_CHIPS = ("sm_100", "sm_103", "sm_110", "sm_120")
LEAST_NOTICED = 0.5  # share of the shortened stalls; in the others ptxas leaves slack


def main():
    hazard_cubins, rewrite_cubins = sys.argv[1:3]
    ptxas = tools.find("ptxas")
    if not ptxas:
        print("skipped, no ptxas")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        cubins = []
        for ptx in sorted(CORPUS.glob("*.ptx")):
            cubin = pathlib.Path(folder) / (ptx.stem + ".cubin")
            if subprocess.run([ptxas, "-arch=sm_90", ptx, "-o", cubin], capture_output=True).returncode == 0:
                cubins.append(cubin)
        failed = False
        for command in ([hazard_cubins, "--mutate"], [rewrite_cubins, "--reorder"], [rewrite_cubins, "--serial"]):
            done = subprocess.run([*command, *cubins], capture_output=True, text=True)
            print(done.stdout, end="")
            failed |= done.returncode != 0
            if match := re.search(r"shortened stalls (\d+) of (\d+), dropped waits (\d+) of (\d+)", done.stdout):
                seen, tried, waits_seen, waits = map(int, match.groups())
                failed |= seen < LEAST_NOTICED * tried or waits_seen < LEAST_NOTICED * waits
        for chip in NEWER_CHIPS:
            cubins = []
            for ptx in sorted(CORPUS.glob("*.ptx")):
                cubin = pathlib.Path(folder) / f"{ptx.stem}.{chip}.cubin"
                if subprocess.run([ptxas, f"-arch={chip}", ptx, "-o", cubin], capture_output=True).returncode == 0:
                    cubins.append(cubin)
            done = subprocess.run([hazard_cubins, *cubins], capture_output=True, text=True)
            print(chip, done.stdout.splitlines()[-1])
            failed |= done.returncode != 0 or not cubins
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

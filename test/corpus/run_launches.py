#!/usr/bin/env python3
"""Runs every launch of the corpus: by the PTX interpreter, as our cubin (-O0 and -O3), and as ptxas' cubin where ptxas is there.
Cubins run with timing: their control words have to be right, too.

run_launches.py ORIAS_RUN LAUNCH.json...

Exits with 1 when a launch leaves other results than its file expects.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile


def ptxas():
    folder = os.environ.get("ORIAS_PEERS_DIR", "")
    return shutil.which("ptxas", path=os.pathsep.join(filter(None, [folder, os.environ.get("PATH", "")])))


def ways(launch, program, compiler, folder):
    """The command lines behind the name of orias-run, by the name of the way."""
    yield "ptx", [launch]
    yield "orias -O3", ["--assemble", "--timing", launch]
    yield "orias -O0", ["--assemble", "--timing", "-O0", launch]
    if compiler:
        cubin = os.path.join(folder, os.path.relpath(program).replace(os.sep, "_") + ".cubin")  # names occur twice
        if not os.path.exists(cubin):
            subprocess.run([compiler, "-arch=sm_90", program, "-o", cubin], check=True)
        yield "ptxas", ["--timing", launch, cubin]


def main():
    orias_run, launches = sys.argv[1], sys.argv[2:]
    compiler = ptxas()
    good = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for launch in launches:
            with open(launch, encoding="utf-8") as file:
                program = os.path.join(os.path.dirname(launch), json.load(file)["file"])
            for name, words in ways(launch, program, compiler, folder):
                run = subprocess.run([orias_run, *words], capture_output=True, text=True, check=False)
                if run.returncode == 0:
                    good += 1
                    continue
                bad += 1
                print(f"{os.path.basename(launch)}, {name}:\n{run.stdout}{run.stderr}")
    if not compiler:
        print("ptxas' cubins skipped: no peer")
    print(f"{good} runs as expected, {bad} not")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())

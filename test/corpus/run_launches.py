#!/usr/bin/env python3
"""Runs every launch of the corpus: by the PTX interpreter, as our cubin (-O0 and -O3), and where ptxas is there as its cubins for
sm_90 and, of programs that sm_80 can run, for sm_80. Cubins for sm_90 run with timing: their control words have to be right, too.

run_launches.py ORIAS_RUN LAUNCH.json...

Exits with 1 when a launch leaves other results than its file expects. What launches/unsupported.txt names (a launch
and a way each line) may be refused as not supported; it is told when it is supported by now.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

UNSUPPORTED = pathlib.Path(__file__).resolve().parent / "launches" / "unsupported.txt"
WAYS = {"ptx": [], "O3": ["--assemble", "--timing"], "O0": ["--assemble", "--timing", "-O0"]}


def ptxas():
    folder = os.environ.get("ORIAS_PEERS_DIR", "")
    return shutil.which("ptxas", path=os.pathsep.join(filter(None, [folder, os.environ.get("PATH", "")])))


def for_older_chip(program, name):
    """ptxas' cubin of the program for sm_80, in files of that name; None where it needs a newer chip."""
    text = pathlib.Path(program).read_text(encoding="utf-8")
    pathlib.Path(name + ".ptx").write_text(re.sub(r"\.target\s+sm_90a?", ".target sm_80", text), encoding="utf-8")
    words = [ptxas(), "-arch=sm_80", name + ".ptx", "-o", name + ".sm_80.cubin"]
    done = subprocess.run(words, capture_output=True, check=False)
    return None if done.returncode else name + ".sm_80.cubin"


def program_of(launch):
    with open(launch, encoding="utf-8") as file:
        return os.path.normpath(os.path.join(os.path.dirname(launch), json.load(file)["file"]))


def may_be_unsupported():
    lines = UNSUPPORTED.read_text(encoding="utf-8").splitlines()
    return {tuple(line.split()[:2]) for line in lines if line and not line.startswith("#")}


def main():
    orias_run, launches = sys.argv[1], sys.argv[2:]
    compiler = ptxas()
    allowed = may_be_unsupported()
    good, unsupported, bad = [], [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = {launch: program_of(launch) for launch in launches}
        cubins = {p: os.path.join(folder, f"{k}.cubin") for k, p in enumerate(sorted(set(programs.values())))}
        older = dict.fromkeys(cubins)
        if compiler:
            older = dict(zip(cubins, pool.map(lambda p: for_older_chip(p, cubins[p].removesuffix(".cubin")), cubins)))
            list(pool.map(lambda p: subprocess.run([compiler, "-arch=sm_90", p, "-o", cubins[p]], check=True), cubins))

        def run(task):
            launch, way = task
            program = programs[launch]
            peers = {"ptxas": ["--timing", launch, cubins[program]], "sm_80": [launch, older[program]]}
            words = peers[way] if way in peers else WAYS[way] + [launch]
            done = subprocess.run([orias_run, *words], capture_output=True, text=True, check=False)
            return task, done.returncode, done.stdout + done.stderr

        ways = list(WAYS) + (["ptxas", "sm_80"] if compiler else [])
        tasks = [(launch, way) for launch in launches for way in ways if way != "sm_80" or older[programs[launch]]]
        for (launch, way), code, text in pool.map(run, tasks):
            name = pathlib.Path(launch).stem
            is_allowed = (name, way) in allowed
            if code == 0:
                good.append(name)
                if is_allowed:
                    print(f"{name}, {way}: is supported by now; take it out of {UNSUPPORTED.name}")
            elif is_allowed and ("not supported yet" in text or text.startswith("unsupported: ")):
                unsupported.append(f"{name} {way}")
            else:
                bad.append(name)
                print(f"{name}, {way}:\n{text}")
    if not compiler:
        print("ptxas' cubins skipped: no peer")
    for item in unsupported:
        print(f"not supported: {item}")
    print(f"{len(launches)} launches: {len(good)} runs as expected, {len(unsupported)} not supported, {len(bad)} wrong")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())

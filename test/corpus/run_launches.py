#!/usr/bin/env python3
"""Runs every launch of the corpus: by the PTX interpreter, as our cubins for sm_90 (-O0 and -O3) and, of programs that they can run,
for sm_75, sm_80, sm_100 and sm_120, and where ptxas is there as its cubins. All but its own for other chips run with timing: control words have to
be right, too.

run_launches.py ORIAS_RUN LAUNCH.json...

Exits with 1 when a launch leaves other results than its file expects. What launches/unsupported.txt names (a launch
and a way each line) may be refused as not supported, and cubins of ptxas that it names may fail; it is told when it is supported by now.
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


OTHER_CHIPS = ["sm_75", "sm_80", "sm_100", "sm_120"]


def for_other_chip(compiler, chip, program, cubin):
    """A compiler's cubin of the program for a chip; None where the program needs a newer one, or what it says otherwise."""
    text = pathlib.Path(program).read_text(encoding="utf-8")
    ptx = cubin.removesuffix(".cubin") + ".ptx"
    text = re.sub(r"\.target\s+sm_\w+", f".target {chip}", text)
    if int(chip.removeprefix("sm_")) >= 100:
        text = re.sub(r"\.version\s+[\d.]+", ".version 9.0", text)
    pathlib.Path(ptx).write_text(text, encoding="utf-8")
    done = subprocess.run([compiler, f"-arch={chip}", ptx, "-o", cubin], capture_output=True, text=True, check=False)
    if done.returncode and "requires .target" not in done.stderr and "not supported" not in done.stderr:
        raise SystemExit(f"{program}: {compiler} for {chip}:\n{done.stderr}")
    return None if done.returncode else cubin


def program_of(launch):
    with open(launch, encoding="utf-8") as file:
        return os.path.normpath(os.path.join(os.path.dirname(launch), json.load(file)["file"]))


def chip_of(program):
    """sm_90a or sm_100a for programs that name it, else sm_90."""
    named = re.search(r"\.target\s+(sm_90a|sm_100a)", pathlib.Path(program).read_text(encoding="utf-8"))
    return named.group(1) if named else "sm_90"


def may_be_unsupported():
    lines = UNSUPPORTED.read_text(encoding="utf-8").splitlines()
    return {tuple(line.split()[:2]) for line in lines if line and not line.startswith("#")}


def main():
    orias_run, launches = sys.argv[1], sys.argv[2:]
    orias = orias_run.removesuffix("-run")
    compiler = ptxas()
    allowed = may_be_unsupported()
    good, unsupported, bad = [], [], []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = {launch: program_of(launch) for launch in launches}
        cubins = {p: os.path.join(folder, f"{k}.cubin") for k, p in enumerate(sorted(set(programs.values())))}
        makers = {chip: (orias, chip) for chip in OTHER_CHIPS} | {f"ptxas_{chip}": (compiler, chip) for chip in OTHER_CHIPS}
        others = {way: dict.fromkeys(cubins) for way in makers}
        for way, (maker, chip) in makers.items():
            names = {p: cubins[p].removesuffix("cubin") + way + ".cubin" for p in cubins}
            if maker:
                others[way] = dict(zip(cubins, pool.map(lambda p: for_other_chip(maker, chip, p, names[p]), cubins)))
        if compiler:
            list(pool.map(lambda p: subprocess.run([compiler, f"-arch={chip_of(p)}", p, "-o", cubins[p]], check=True), cubins))

        def run(task):
            launch, way = task
            program = programs[launch]
            if way in WAYS:
                words = WAYS[way] + [launch]
            elif way in others:
                words = (["--timing"] if way in OTHER_CHIPS else []) + [launch, others[way][program]]
            else:
                words = ["--timing", launch, cubins[program]]
            done = subprocess.run([orias_run, *words], capture_output=True, text=True, check=False)
            return task, done.returncode, done.stdout + done.stderr

        ways = list(WAYS) + (["ptxas"] if compiler else []) + list(others)
        tasks = [(launch, way) for launch in launches for way in ways if way not in others or others[way][programs[launch]]]
        for (launch, way), code, text in pool.map(run, tasks):
            name = pathlib.Path(launch).stem
            is_allowed = (name, way) in allowed
            if code == 0:
                good.append(name)
                if is_allowed:
                    print(f"{name}, {way}: is supported by now; take it out of {UNSUPPORTED.name}")
            elif is_allowed and (way.startswith("ptxas") or "not supported yet" in text or "\nunsupported: " in "\n" + text):
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

#!/usr/bin/env python3
"""module_phases.py --orias-run BUILD/bin/orias-run FILE.ptx...: the effect of M6, M7 and M8, compared with ptxas.

Each file is assembled by orias, by orias without the phases, and by ptxas. Reports the remaining generic accesses, and
for the kernels that run with made-up arguments (real_kernels.py) the executed warp instructions, the estimated cycles,
and the registers. All three must leave the same memory. The blocks of a full machine get out of step, so its cycles
vary by some percent with the number of blocks. If they are worse, the mean of launches with more blocks is used. In PTX
for debugging the pointer parameters cannot be recognized, so a file NAME.debug.* runs with the arguments for NAME.*.
Exits with 1 if a kernel leaves other memory than ptxas', or executes more instructions or takes more cycles than 2%
above those without the phases.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import real_kernels  # noqa: E402

PHASES = ("M6", "M7", "M8", "M8b")
GENERIC = re.compile(r"^\s*[0-9a-f]{4,}\s+(?:@!?U?P\w+\s+)?(LD|ST|ATOM|QSPC)(?:\.|\s)", re.M)
MOST = 1.02
GRIDS = (1, 2, 4, 8)  # factors for the blocks of the launch


def generic_accesses(dis, cubin):
    return len(GENERIC.findall(subprocess.run([dis, cubin], capture_output=True, text=True, check=False).stdout))


def launches_of(path):
    """Kernels with suitable arguments, in the order of those of the file."""
    sibling = path.with_name(path.name.replace(".debug.", "."))
    return real_kernels.kernels_of((sibling if sibling.exists() else path).read_text(encoding="utf-8", errors="replace"))


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def is_worse(found, what):
    return (found["with"][what] or 0) > MOST * (found["without"][what] or math.inf)


def over_several_grids(runner, launch, contents, cubins, found):
    """Replaces the cycles of a full machine by the mean of several launches."""
    cycles = {name: [] for name in cubins}
    for times in GRIDS:
        larger = launch.with_name("larger.json")
        larger.write_text(json.dumps(contents | {"grid": [contents["grid"][0] * times, *contents["grid"][1:]]}), encoding="utf-8")
        runs = {name: runner.run(str(larger), cubin, "--stats", "--full-machine", times=real_kernels.SLOWER) for name, cubin in cubins.items()}
        if all(run["completed"] and "stats" in run for run in runs.values()):
            for name, run in runs.items():
                cycles[name].append(run["stats"][real_kernels.STATS["full_cycles"]])
    if cycles["with"]:
        for name in cubins:
            found[name]["full_cycles"] = mean(cycles[name])


def measure(runner, dis, path, place):
    """The generic accesses of the three cubins, and the figures of each kernel that runs."""
    text = path.read_text(encoding="utf-8", errors="replace")
    cubins = {name: str(place / f"{name}.cubin") for name in ("with", "without", "ptxas")}
    off = [f"--disable-phase={phase}" for phase in PHASES]
    if not (runner.assemble(runner.ptxas, str(path), cubins["ptxas"]) and runner.assemble(runner.orias, str(path), cubins["with"])
            and runner.assemble(runner.orias, str(path), cubins["without"], *off)):
        return None
    accesses = {name: generic_accesses(dis, cubin) for name, cubin in cubins.items()}
    kernels = []
    for kernel, fitting in zip(list(real_kernels.kernels_of(text)), list(launches_of(path))):
        for attempt in real_kernels.ATTEMPTS[:4]:
            launch = place / "launch.json"
            contents = fitting.launch(*attempt) | {"file": str(path), "kernel": kernel.name}
            launch.write_text(json.dumps(contents), encoding="utf-8")
            alone = runner.run(str(launch), cubins["ptxas"])
            if not alone["completed"]:
                continue
            found = {}
            for name, cubin in cubins.items():
                run = runner.run(str(launch), cubin, "--stats", "--full-machine", "--compare", cubins["ptxas"], times=real_kernels.SLOWER)
                if not run["completed"] or "stats" not in run:
                    break
                found[name] = {told: run["stats"].get(what) for told, what in real_kernels.STATS.items()}
                found[name]["differs"] = bool(run.get("different"))
            if found.get("with", {}).get("differs"):
                found["with"]["differs"] = runner.explain(str(launch), str(path), cubins["ptxas"]) == "differs"
            if len(found) == len(cubins):
                if is_worse(found, "full_cycles"):
                    over_several_grids(runner, launch, contents, cubins, found)
                kernels.append((kernel.name, found))
            break
    return accesses, kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orias-run", required=True)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--budget", type=int, default=2_000_000)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.keep, arguments.stats = None, True
    runner = real_kernels.Runner(arguments)
    if not runner.ptxas:
        print("skipped: ptxas is not there")
        return 0
    dis = os.path.abspath(arguments.orias_run).removesuffix("-run") + "-dis"
    accesses, kernels, wrong = {}, [], 0
    for path in arguments.paths:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(runner, dis, path, pathlib.Path(folder))
        if found is None:
            continue
        for name, count in found[0].items():
            accesses[name] = accesses.get(name, 0) + count
        for name, figures in found[1]:
            kernels.append(figures)
            worse = [f"{what}: {figures['with'][what] / figures['without'][what]:.2f}" for what in real_kernels.STATS if what != "resident_warps"
                     and is_worse(figures, what)]
            if worse or figures["with"]["differs"]:
                wrong += 1
                print(f"{path} {name}: {'other memory' if figures['with']['differs'] else 'more ' + ', '.join(worse)}", flush=True)
    print(f"generic accesses left: {accesses}")
    for what, told in real_kernels.STATS.items():
        for of in ("without", "ptxas"):
            pairs = [(k["with"][what], k[of][what]) for k in kernels if k["with"][what] and k[of][what]]
            if pairs:
                print(f"{told}, {'against ptxas' if of == 'ptxas' else 'against the same without the phases'}: "
                      f"mean {mean([a / b for a, b in pairs]):.2f}, in total {sum(a for a, b in pairs) / sum(b for a, b in pairs):.2f} "
                      f"({len(pairs)} kernels)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Where the time of compilation goes: by phase, on generated kernels of growing size and on given files.

    phase_times.py --orias build/release/bin/orias [--shapes SHAPE...] [--sizes N...] [--phases N] [FILE_OR_FOLDER...]

Without files: each shape of kernels.py at 10^3, 10^4 and 10^5 instructions. A line a shape: processor time per size, and the
exponent of growth from each size to the next (1 is linear); then the phases that take most at the largest size, and
those that grow faster than --exponent (of some weight). With files: the shares of the phases over all of them, and in
how many files, and how badly, a phase takes more than --share of the phases' time (files below --least-ms left out).
"""
import argparse
import collections
import math
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "peers"))
import kernels  # noqa: E402
import tools  # noqa: E402

STAGE = re.compile(r"^ +(parse|check|lower|phases|cubin) +([\d.]+)$", re.MULTILINE)
PHASE = re.compile(r"^ *(\d+\w?) (\w+) +([\d.]+) +[\d.]+% +\d+$", re.MULTILINE)


def times(orias, path, scratch):
    """Milliseconds by stage and by phase ("101 AllocateRegisters"); None when it does not assemble."""
    target = re.search(r"^\s*\.target\s+(\w+)", path.read_text(errors="replace"), re.MULTILINE)
    arch = target[1] if target and target[1].startswith("sm_90") else "sm_90"
    command = [orias, f"-arch={arch}", "--time-phases", str(path), "-o", str(scratch / "out.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    text = done.stdout + done.stderr
    stages = {name: float(ms) for name, ms in STAGE.findall(text)}
    return stages, {f"{number} {name}": float(ms) for number, name, ms in PHASE.findall(text)}


def shares(phases, count):
    total = sum(phases.values()) or 1.0
    most = sorted(phases.items(), key=lambda item: -item[1])[:count]
    return ", ".join(f"{name} {100 * ms / total:.1f}%" for name, ms in most)


def exponent(small, large, sizes):
    return math.log(large / small) / math.log(sizes[1] / sizes[0]) if small > 0 and large > 0 else 0.0


def growth(options, scratch):
    for shape in options.shapes:
        found = []
        for size in options.sizes:
            path = scratch / f"{shape}.ptx"
            path.write_text(kernels.kernel(shape, size))
            runs = [times(options.orias, path, scratch) for _ in range(options.repeat)]
            if not runs[0]:
                sys.exit(f"{shape} with {size} instructions does not assemble")
            stages = {name: min(run[0][name] for run in runs) for name in runs[0][0]}
            stages["phases"] = min(sum(run[1].values()) for run in runs)
            found.append((stages, {name: min(run[1][name] for run in runs) for name in runs[0][1]}))
        totals = [sum(stages.values()) for stages, _ in found]
        steps = list(zip(options.sizes, options.sizes[1:]))
        rates = [exponent(a, b, step) for a, b, step in zip(totals, totals[1:], steps)]
        print(
            f"{shape:10} ms {' '.join(f'{t:9.1f}' for t in totals)}   growth {' '.join(f'{r:5.2f}' for r in rates)}   "
            f"{shares(found[-1][1], options.phases)}",
            flush=True,
        )
        if len(found) < 2:
            continue
        last = found[-1][1]
        for name, ms in sorted(last.items(), key=lambda item: -item[1]):
            rate = exponent(found[-2][1].get(name, 0), ms, steps[-1])
            if rate > options.exponent and ms > 0.01 * sum(last.values()):
                print(f"    {name:34} {found[-2][1][name]:9.1f} {ms:9.1f} ms   growth {rate:5.2f}")


def over_files(options, scratch):
    files = []
    for path in options.paths:
        files += sorted(path.rglob("*.ptx")) if path.is_dir() else [path]
    stages, phases, above = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    read = 0
    for path in files[:: max(1, -(-len(files) // options.limit))] if options.limit else files:
        found = times(options.orias, path, scratch)
        if not found:
            continue
        read += 1
        stages.update(found[0])
        phases.update(found[1])
        total = sum(found[1].values())
        for name, ms in found[1].items():
            if total > options.least_ms and ms > options.share * total:
                above[name].append((ms / total, path))
    whole = sum(stages.values()) or 1.0
    print(f"{read} files: " + ", ".join(f"{name} {ms:.0f} ms ({100 * ms / whole:.1f}%)" for name, ms in stages.items()))
    total = sum(phases.values()) or 1.0
    for name, ms in phases.most_common(options.phases):
        print(f"    {name:34} {ms:10.1f} ms {100 * ms / total:6.1f}%")
    for name, cases in sorted(above.items()):
        worst = max(cases)
        print(f"    above {100 * options.share:.0f}%: {name:34} {len(cases):4} files, worst {100 * worst[0]:.1f}% {worst[1].name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias", default=tools.find("orias"))
    parser.add_argument("--shapes", nargs="+", choices=kernels.SHAPES, default=list(kernels.SHAPES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 10000, 100000])
    parser.add_argument("--repeat", type=int, default=1, help="runs of each generated kernel; the fastest counts")
    parser.add_argument("--phases", type=int, default=4, help="how many of the slowest phases are named")
    parser.add_argument("--exponent", type=float, default=1.3)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--least-ms", type=float, default=5.0)
    parser.add_argument("--limit", type=int, default=0, help="so many files, evenly spread")
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if not options.orias:
        parser.error("no orias: give --orias")
    with tempfile.TemporaryDirectory() as folder:
        (over_files if options.paths else growth)(options, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())

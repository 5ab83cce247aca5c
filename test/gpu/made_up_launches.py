#!/usr/bin/env python3
"""Launch files with made-up arguments for the kernels of PTX files (test/peers/real_kernels.py makes the arguments up).

    made_up_launches.py --orias-run PROGRAM --out FOLDER [--jobs N] FILE_OR_FOLDER...

A kernel gets a launch file if the PTX interpreter ends in order with the arguments, without a race, and memory changes. The file says
nothing of what is expected: the interpreter does.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import real_kernels  # noqa: E402

# Small, because a pack carries the contents.
real_kernels.ELEMENTS = 1 << 12
ATTEMPTS = [(64, 64), (32, 64), (16, 64), (7, 64), (1, 64), (64, 256), (128, 128), (16, 32)]


def try_out(program, launch, budget):
    """Whether the interpreter ends in order, and memory changes."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(launch, file)
        file.flush()
        done = subprocess.run([program, file.name, "--json", "--racecheck", "--budget", str(budget)], capture_output=True, text=True,
                              check=False)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        return False
    return report["completed"] and not report.get("reports") and bool(report.get("wrong"))


def launches_of(path, program, budget):
    """(kernel, launch) for each kernel for which arguments are found; the expectations of its buffers are what they start with."""
    found = []
    try:
        for kernel in real_kernels.kernels_of(path.read_text(encoding="utf-8", errors="replace")):
            for attempt in ATTEMPTS:
                launch = kernel.launch(*attempt)
                launch["file"] = str(path.resolve())
                if not launch["textures"] and try_out(program, launch, budget):
                    found.append((kernel.name, launch))
                    break
    except ValueError as error:  # a parameter that nobody can make up
        print(f"{path}: {error}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orias-run", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--budget", type=int, default=3_000_000, help="thread instructions of a run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    files = [f for p in arguments.paths for f in (sorted(p.rglob("*.ptx")) if p.is_dir() else [p])]
    count = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        found = pool.map(lambda f: launches_of(f, arguments.orias_run, arguments.budget), files)
        for path, launches in zip(files, found):
            for number, (name, launch) in enumerate(launches):
                for buffer in launch["buffers"]:
                    buffer.pop("expected", None)
                target = arguments.out / f"{path.parent.name}.{path.stem}.{number}.{name[:40]}.json"
                target.write_text(json.dumps(launch, indent=1), encoding="utf-8")
                count += 1
    print(f"{count} launches for {len(files)} files")


if __name__ == "__main__":
    main()

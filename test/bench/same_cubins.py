#!/usr/bin/env python3
"""Compares the cubins of two builds of orias, and their processor time with each other's and with ptxas'.

    same_cubins.py --before BINARY --after BINARY [--ptxas PROGRAM] [--repeat N] [FILE_OR_FOLDER...]

Each file is compiled for the target that it names, with -c where it does not compile alone. Prints the files whose cubins
(or messages) differ, the geometric mean and the total of the processor time of whole processes over the same files, and the
slowest files. Exits with 1 when a cubin differs. Without files: test/zoo/ptx, test/corpus and examples.
"""

import argparse
import math
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = re.compile(r"^\s*\.target\s+(sm_\w+)", re.MULTILINE)


def run(command):
    """Exit status, messages, processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return done.returncode, done.stdout + done.stderr, seconds


class Program:
    def __init__(self, path, scratch, name):
        self.path, self.out = path, scratch / f"{name}.cubin"
        self.times = {}

    def compile(self, arch, ptx, options, repeat):
        """The cubin and the messages; None when it fails. Notes the least time of `repeat` runs."""
        self.out.unlink(missing_ok=True)
        command = [self.path, f"-arch={arch}", *options, str(ptx), "-o", str(self.out)]
        runs = [run(command) for _ in range(repeat)]
        if runs[0][0] != 0:
            return None, runs[0][1]
        self.times[ptx] = max(min(seconds for _, _, seconds in runs), 0.0001)
        return self.out.read_bytes(), runs[0][1]


def ratio(first, second, what):
    files = first.times.keys() & second.times.keys()
    if not files:
        return
    logs = sum(math.log(first.times[f] / second.times[f]) for f in files)
    total = sum(first.times[f] for f in files) / sum(second.times[f] for f in files)
    print(f"{what}: geometric mean {math.exp(logs / len(files)):.3f}, total {total:.3f} over {len(files)} files")
    worst = sorted(files, key=lambda f: -first.times[f] / second.times[f])[:8]
    print("  " + ", ".join(f"{f.name} {first.times[f] / second.times[f]:.2f}" for f in worst))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--ptxas")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    places = options.files or [ROOT / "test/zoo/ptx", ROOT / "test/corpus", ROOT / "examples"]
    files = sorted(f for place in places for f in (place.rglob("*.ptx") if place.is_dir() else [place]))
    different = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        before, after = Program(options.before, scratch, "before"), Program(options.after, scratch, "after")
        ptxas = Program(options.ptxas, scratch, "ptxas") if options.ptxas else None
        for ptx in files:
            target = TARGET.search(ptx.read_text(errors="replace"))
            arch = target[1] if target and target[1] not in ("sm_50", "sm_52", "sm_60", "sm_70") else "sm_90"
            more = []
            was = before.compile(arch, ptx, more, options.repeat)
            if was[0] is None:
                more = ["-c"]
                was = before.compile(arch, ptx, more, options.repeat)
            now = after.compile(arch, ptx, more, options.repeat)
            compared += was[0] is not None
            if was != now:
                different += 1
                print(f"differs: {ptx}" + ("" if now[0] is not None else "\n" + now[1]))
            if ptxas:
                ptxas.compile(arch, ptx, more, options.repeat)
    print(f"{compared} cubins compared, {different} files differ")
    ratio(after, before, "after / before")
    if ptxas:
        ratio(before, ptxas, "before / ptxas")
        ratio(after, ptxas, "after / ptxas")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs orias on every malformed input of generate.py and fails unless it refuses each of them properly.

Properly: exit status 1, within the time and memory limits, with at least one "file:line:column: error: ..." on standard error,
and without leaving an output file. Status 3 (internal error), a signal or a sanitizer's report fail the test.

    run.py --orias build/release/tools/orias/orias [--filter deep] [--jobs 2] [--keep DIR]
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

import generate

ERROR_LINE = re.compile(r"^\S.*:\d+:\d+: error: \S", re.MULTILINE)


def limited(megabytes):
    """A function that bounds the memory of the child; sanitizers reserve terabytes, so 0 means no bound."""

    def set_limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if megabytes:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    return set_limits


def judge(orias, source, output, arguments):
    """Runs orias on one file; returns (what is wrong or None, seconds)."""
    command = [orias, f"-arch={arguments.arch}", str(source), "-o", str(output)]
    start = time.monotonic()
    try:
        result = subprocess.run(
            command, capture_output=True, timeout=arguments.seconds, preexec_fn=limited(arguments.megabytes)
        )
    except subprocess.TimeoutExpired:
        return f"still running after {arguments.seconds} s", arguments.seconds
    seconds = time.monotonic() - start
    said = result.stderr.decode(errors="replace")
    if output.exists():
        output.unlink()
        return "left an output file", seconds
    if "Sanitizer" in said or "runtime error:" in said:
        return "sanitizer: " + next(l for l in said.splitlines() if "Sanitizer" in l or "runtime error:" in l), seconds
    if result.returncode < 0:
        return f"killed by signal {-result.returncode}", seconds
    if result.returncode == 0:
        return "accepted", seconds
    if result.returncode != 1:
        return f"exit status {result.returncode}: {said.strip()[:200]}", seconds
    if not ERROR_LINE.search(said):
        return f"no line 'file:line:column: error:' but: {said.strip()[:200]!r}", seconds
    return None, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orias", default=os.environ.get("ORIAS", "orias"), help="the program (or $ORIAS)")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--seconds", type=float, default=5.0, help="time limit for one file")
    parser.add_argument("--megabytes", type=int, default=2048, help="memory limit for one file, 0 for none")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="write the inputs here and leave them")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        sources = [p for p in generate.write(arguments.keep or scratch) if arguments.filter in p.stem]
        outputs = [pathlib.Path(scratch) / (p.stem + ".cubin") for p in sources]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            verdicts = list(pool.map(lambda pair: judge(arguments.orias, *pair, arguments), zip(sources, outputs)))

    failures = [(source.stem, wrong) for source, (wrong, _) in zip(sources, verdicts) if wrong]
    for name, wrong in failures:
        print(f"{name}: {wrong}")
    slowest, slowest_name = max(((s, p.stem) for p, (_, s) in zip(sources, verdicts)), default=(0, "none"))
    print(f"{len(sources)} malformed inputs, {len(failures)} not refused properly; slowest {slowest_name} {slowest:.2f} s")
    return 1 if failures or not sources else 0


if __name__ == "__main__":
    sys.exit(main())

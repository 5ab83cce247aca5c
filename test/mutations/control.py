#!/usr/bin/env python3
"""Controls of run.py: it must report a program that crashes, one that accepts everything, and one that refuses everything; and a program that does
what ptxas does has no differences (stand-ins take the places of both programs).

    control.py FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REFUSES_ODD = "case $(wc -c < \"$3\") in *[13579]) echo 'x.ptx:1:1: error: odd' >&2; exit 1;; esac; exit 0"


def outcome(folder, ours, theirs):
    """Exit status and report of run.py with two shell scripts in the places of orias and ptxas."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for name, script in (("ours", ours), ("theirs", theirs)):
            path = pathlib.Path(scratch) / name
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
            paths.append(str(path))
        command = [sys.executable, str(HERE / "run.py"), "--orias", paths[0], "--ptxas", paths[1], "--count", "6", "--seconds", "5", folder]
        result = subprocess.run(command, capture_output=True, text=True)
        return result.returncode, result.stdout


def main():
    folder = sys.argv[1]
    wrong = []
    for name, ours, theirs, status, said in (
        ("agreement", REFUSES_ODD, REFUSES_ODD, 0, "0 differences"),
        ("internal errors", "exit 3", "exit 0", 1, "crash: status 3"),
        ("signals", "kill -SEGV $$", "exit 0", 1, "crash: status -11"),
        ("accepts everything", "exit 0", "echo 'ptxas a.ptx, line 1; error   : no' >&2; exit 255", 1, "accepted by ours alone: no"),
        ("refuses everything", "echo 'a.ptx:1:1: error: no' >&2; exit 1", "exit 0", 1, "accepted by ptxas alone: no"),
        ("explained", "echo \"a.ptx:1:1: error: syntax error at '.target'\" >&2; exit 1", "exit 0", 0, "6 differences that"),
    ):
        found, report = outcome(folder, ours, theirs)
        if found != status or said not in report:
            wrong.append(f"{name}: exit status {found}, expected {status} and '{said}' in:\n{report}")
    print("\n".join(wrong) or "all controls as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""guides_test.py BIN GUIDE...: runs the commands of the guides (lines that begin with `$ orias`), and looks for what they are said to print.

A guide shows a part of the output: each line of it must be a part of a line of the output, in the same order."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INDENT = "    "


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Each command with the lines that follow it in its block; those of another program end the block."""
    found: list[tuple[str, list[str]]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(INDENT + "$ "):
            found.append((line[len(INDENT) + 2 :], []))
            inside = True
        elif line.startswith(INDENT) and inside and not line[len(INDENT) :].startswith("ORIAS_"):
            found[-1][1].append(line[len(INDENT) :].rstrip())
        else:
            inside = False
    return found


def missing(shown: list[str], output: str) -> str | None:
    lines = iter(output.splitlines())
    for wanted in shown:
        if not any(wanted in line for line in lines):
            return wanted
    return None


def main() -> int:
    binaries, guides = Path(sys.argv[1]).resolve(), [Path(name) for name in sys.argv[2:]]
    failed = ran = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for entry in ("examples", "test", "tools", "docs"):
            (folder / entry).symlink_to(ROOT / entry)
        environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
        for guide in guides:
            for command, shown in commands(guide.read_text()):
                done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
                output = done.stdout + done.stderr
                ran += 1
                if done.returncode != 0:
                    print(f"{guide.name}: '{command}' ended with {done.returncode}:\n{output}")
                    failed += 1
                elif (line := missing(shown, output)) is not None:
                    print(f"{guide.name}: '{command}' does not print '{line}':\n{output}")
                    failed += 1
    print(f"{ran} commands, {failed} not as the guides say")
    return failed != 0 or ran == 0


if __name__ == "__main__":
    sys.exit(main())

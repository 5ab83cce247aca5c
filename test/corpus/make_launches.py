#!/usr/bin/env python3
"""Writes the launch files whose expected results Python computes (recipes/*.py): test/corpus/launches/NAME.json.

make_launches.py [NAME...]    writes those launches, all without names
make_launches.py --check      writes nothing; exits with 1 when a file is not what its recipe gives
"""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from recipes import clusters, control, data, floats, integers, matrices, memory, programs, warps  # noqa: E402, F401


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for name in arguments.names or sorted(data.LAUNCHES):
        path = HERE / "launches" / (name + ".json")
        text = data.render(name)
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        sys.exit("make_launches.py: not what their recipes give: " + ", ".join(stale))
    print(f"{len(arguments.names or data.LAUNCHES)} launches")


if __name__ == "__main__":
    main()

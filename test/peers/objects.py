#!/usr/bin/env python3
"""objects.py BUILD/bin/orias BUILD/bin/orias-run: relocatable objects are linked with those of ptxas.

A program in two files (objects/) is assembled by orias and by ptxas, each file by each of the two, and linked by nvlink in all four
ways; the linked programs run on the emulator and must leave what the one leaves that is ptxas' alone. Prints that it was
skipped where there is no ptxas or nvlink.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import tools

OBJECTS = pathlib.Path(__file__).resolve().parent / "objects"
FILES = ("caller", "callee")


def results(run, cubin, folder):
    """What the launch leaves in `out`."""
    launch = json.loads((OBJECTS / "launch.json").read_text())
    launch["file"] = str(cubin)
    launch["buffers"][0]["print"] = launch["buffers"][0]["count"]
    del launch["$schema"]
    path = folder / "launch.json"
    path.write_text(json.dumps(launch))
    done = subprocess.run([run, path], capture_output=True, text=True)
    assert done.returncode == 0, f"{cubin.name}: {done.stdout}{done.stderr}"
    # Not how many instructions that took.
    return "\n".join(line for line in done.stdout.splitlines() if "thread instructions" not in line)


def main():
    orias, run = sys.argv[1:3]
    ptxas, nvlink = tools.find("ptxas"), tools.find("nvlink")
    if not ptxas or not nvlink:
        print("skipped, no ptxas or nvlink")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for assembler, program in (("orias", orias), ("ptxas", ptxas)):
            for file in FILES:
                for level in ("-O0", "-O3"):
                    subprocess.run(
                        [program, "-arch=sm_90", "-c", level, OBJECTS / f"{file}.ptx", "-o", folder / f"{file}.{assembler}{level}.o"],
                        check=True)
        left = {}
        for first in ("ptxas-O3", "orias-O3", "orias-O0"):
            for second in ("ptxas-O3", "orias-O3", "orias-O0"):
                cubin = folder / f"{first}.{second}.cubin"
                objects = [folder / f"caller.{first}.o", folder / f"callee.{second}.o"]
                subprocess.run([nvlink, "-arch=sm_90", "--suppress-stack-size-warning", *objects, "-o", cubin], check=True)
                left[first, second] = results(run, cubin, folder)
        wanted = left["ptxas-O3", "ptxas-O3"]
        assert len(re.findall(r"\d+", wanted)) >= 32, wanted
        failed = [pair for pair, got in left.items() if got != wanted]
        for caller, callee in failed:
            print(f"caller by {caller}, callee by {callee}: other results than of ptxas' own program")
        print(f"{len(left) - len(failed)} of {len(left)} programs agree")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Makes test/corpus/ptx/NAME.ptx from test/corpus/cuda/NAME.cu with nvcc.

Needed only when a program changes: the PTX is kept in the repository so that tests run without NVIDIA software.
With --check nothing is written; the exit status says whether what nvcc makes now is what is kept.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
COMMAND = ["nvcc", "-ptx", "-arch=sm_90", "-std=c++17", "-O3", "-Wno-deprecated-gpu-targets"]


def compile_program(source, target):
    """Runs nvcc on one program; the file name is relative so that no path of this machine gets into the PTX."""
    command = COMMAND + [source.name, "-o", str(target)]
    subprocess.run(command, cwd=source.parent, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs to compile, without .cu; all by default")
    parser.add_argument("--check", action="store_true", help="compare with what is kept, write nothing")
    arguments = parser.parse_args()
    if not shutil.which("nvcc"):
        sys.exit("generate.py: nvcc is not on PATH")

    differing = []
    for source in sorted((HERE / "cuda").glob("*.cu")):
        if arguments.names and source.stem not in arguments.names:
            continue
        kept = HERE / "ptx" / (source.stem + ".ptx")
        with tempfile.TemporaryDirectory() as directory:
            made = pathlib.Path(directory) / kept.name
            compile_program(source, made)
            text = made.read_bytes()
        if arguments.check:
            if not kept.exists() or kept.read_bytes() != text:
                differing.append(source.stem)
        else:
            kept.write_bytes(text)
    if differing:
        sys.exit("generate.py: differ from what nvcc makes: " + ", ".join(differing))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes seeds for the fuzzers from the tree: one folder for each body.

    make_seeds.py --orias build/release/bin/orias OUT

ptx    examples and handwritten programs
ori    the kernels of test/phases, each alone, and the examples as they are after a few phases
cubin  the examples assembled, at -O3 and at -O0
words  the code of those cubins, a few words a file
"""
import argparse
import pathlib
import re
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHASES = ("0", "23", "65", "115")  # as lowered, in SSA form, with exact instructions, with registers and scoreboards
WORDS_A_FILE = 8
WORD_BYTES = 16


def put(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def kernels_of(text):
    """A module of Ori text, cut into one module for each function."""
    text = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)
    head, *functions = re.split(r"^(?=(?:kernel|function) )", text, flags=re.MULTILINE)
    return [head + function for function in functions]


def code_of(cubin):
    """The contents of the sections of code of a 64-bit ELF file."""
    table, = struct.unpack_from("<Q", cubin, 40)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + size * i) for i in range(count)]
    names = sections[names_at][4]
    for name, _, _, _, offset, length in sections:
        end = cubin.index(b"\0", names + name)
        if cubin[names + name : end].startswith(b".text."):
            yield cubin[offset : offset + length]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias", required=True, type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()

    def run(*options):
        return subprocess.run([arguments.orias, "-arch=sm_90", *options], capture_output=True, check=True).stdout

    examples = sorted((ROOT / "examples").glob("*.ptx"))
    for path in [*examples, *sorted((ROOT / "test/corpus/handwritten").glob("*.ptx"))]:
        put(arguments.out / "ptx", path.name, path.read_bytes())
    for path in sorted((ROOT / "test/phases").glob("*.ori")):
        for i, kernel in enumerate(kernels_of(path.read_text(encoding="utf-8"))):
            put(arguments.out / "ori", f"{path.stem}-{i}.ori", kernel)
    for path in examples:
        for phase in PHASES:
            dumped = run(path, f"--dump-after={phase}", f"--stop-after={phase}")
            put(arguments.out / "ori", f"{path.stem}-{phase}.ori", dumped)
        for level in ("-O3", "-O0"):
            made = arguments.out / "cubin" / f"{path.stem}{level}.cubin"
            made.parent.mkdir(parents=True, exist_ok=True)
            run(path, level, "-o", made)
            for f, code in enumerate(code_of(made.read_bytes())):
                step = WORDS_A_FILE * WORD_BYTES
                for at in range(0, len(code), step):
                    put(arguments.out / "words", f"{path.stem}{level}-{f}-{at:04x}", code[at : at + step])


if __name__ == "__main__":
    main()

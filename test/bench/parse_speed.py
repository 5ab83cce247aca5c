#!/usr/bin/env python3
"""Measures parsing and checking of a large file, and start-up on an empty kernel, both from a cold start of the program.

    parse_speed.py --orias build/release/tools/orias/orias [--file big.ptx] [--repeat 5]

Without --file, the kernels of test/corpus/ptx are repeated under new names until 4 MB are full. Prints megabytes a second, bytes
of memory per byte of PTX (those of an empty kernel taken off and left on), and the ratio of start-up times to ptxas' where it
is installed. It only measures: machines differ, so no figure makes it fail.
"""
import argparse
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import tools  # noqa: E402

CORPUS = HERE.parent / "corpus" / "ptx"
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
NAME = re.compile(r"\.(?:entry|func(?:\s*\([^)]*\))?)\s+([\w$]+)")
MODULE_VARIABLE = re.compile(r"^(?:\.visible |\.extern )?\.(?:global|const|shared|extern)", re.MULTILINE)


def bodies():
    """The functions of corpus files that have no module variables, so that they can be repeated."""
    for path in sorted(CORPUS.glob("*.ptx")):
        text = path.read_text()
        if not MODULE_VARIABLE.search(text):
            yield text[text.index(".address_size 64") + len(".address_size 64") :]


def big_file(size):
    """About `size` bytes of PTX: the corpus over and over, each time with other function names."""
    parts, total, copy = [HEADER], 0, 0
    sources = list(bodies())
    while total < size:
        for text in sources:
            for name in set(NAME.findall(text)):
                text = re.sub(rf"\b{re.escape(name)}(?=\b|_param|_\d)", f"{name}_{copy}", text)
            parts.append(text)
            total += len(text)
        copy += 1
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias", default=tools.find("orias"))
    parser.add_argument("--file", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=4.0)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    if not options.orias:
        parser.error("no orias: give --orias")

    with tempfile.TemporaryDirectory() as scratch:
        big = options.file or pathlib.Path(scratch) / "big.ptx"
        if not options.file:
            big.write_text(big_file(int(options.megabytes * 1e6)))
        output = str(pathlib.Path(scratch) / "out.cubin")
        small = pathlib.Path(scratch) / "empty.ptx"
        small.write_text(HEADER + ".visible .entry empty()\n{\n  ret;\n}\n")

        start_up = tools.best([options.orias, "-arch=compute_90", str(small), "-o", output], options.repeat)
        parsing = tools.best([options.orias, "-arch=compute_90", str(big), "-o", output], options.repeat)
        for outcome in (start_up, parsing):
            if not outcome.ok:
                sys.exit(f"status {outcome.status}: {outcome.errors[:500]}")
        size = big.stat().st_size
        for seconds, clock in ((parsing.seconds, "wall"), (parsing.cpu_seconds, "processor")):
            print(f"{size / 1e6:.2f} MB parsed and checked in {seconds:.3f} s ({clock} time): {size / 1e6 / seconds:.1f} MB/s")
        print(
            f"peak memory {parsing.peak_kilobytes / 1024:.1f} MB: {parsing.peak_kilobytes * 1024 / size:.1f} bytes per byte of PTX, "
            f"{(parsing.peak_kilobytes - start_up.peak_kilobytes) * 1024 / size:.1f} beyond an empty kernel's {start_up.peak_kilobytes / 1024:.1f} MB"
        )

        ours = tools.best([options.orias, "-arch=sm_90", str(small), "-o", output], 4 * options.repeat)
        print(f"empty kernel: {ours.seconds * 1e3:.1f} ms" + ("" if ours.ok else f" (status {ours.status})"))
        if peer := tools.find("ptxas"):
            theirs = tools.best([peer, "-arch=sm_90", str(small), "-o", output], 4 * options.repeat)
            print(f"ptxas: {theirs.seconds * 1e3:.1f} ms; ratio {ours.seconds / theirs.seconds:.2f}")
        else:
            print("skipped the ratio: no ptxas on PATH or in $ORIAS_PEERS_DIR")


if __name__ == "__main__":
    main()

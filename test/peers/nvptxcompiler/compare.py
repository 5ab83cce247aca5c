"""compare.py LIB_DIR INCLUDE_DIR: NVIDIA's PTX Compiler library and ours return the same in all calls of calls.c.

NVIDIA's is searched in $ORIAS_PEERS_DIR/../nvptxcompiler (test/peers/install puts it there); without it the test is
skipped. The program is compiled against NVIDIA's own header for both, and against ours for ours."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
HERE = Path(__file__).resolve().parent


def output(folder: Path, name: str, words: list[str], environment: dict[str, str]) -> list[str]:
    program = folder / name
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-std=c11", "-Wall", "-Werror", str(HERE / "calls.c"), "-o", str(program), *words], check=True)
    return subprocess.run([str(program)], capture_output=True, text=True, check=True, env={**os.environ, **environment}).stdout.splitlines()


def main() -> int:
    library, include = map(Path, sys.argv[1:3])
    peers = os.environ.get("ORIAS_PEERS_DIR")
    theirs = Path(peers).parent / "nvptxcompiler" if peers else None
    if theirs is None or not (theirs / "libnvptxcompiler_static.a").exists():
        print("skipped: NVIDIA's library is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        link = [f"-L{library}", "-lnvptxcompiler"]
        environment = {"LD_LIBRARY_PATH": str(library)}
        wanted = output(folder, "theirs", [f"-I{theirs}", str(theirs / "libnvptxcompiler_static.a"), "-lpthread", "-lm", "-ldl"], {})
        failed = False
        for header in (theirs, include):
            got = output(folder, "ours", [f"-I{header}", *link], environment)
            where = ""
            for ours, expected in zip(got, wanted):
                if not expected.startswith(" "):
                    where = expected
                # We give a line where NVIDIA's library gives none.
                if expected.endswith(", line 0") and ", text," in expected:
                    ours = re.sub(r"line \d+$", "line 0", ours)
                if ours != expected:
                    print(f"{where}: {ours.strip()}; NVIDIA's: {expected.strip()}")
                    failed = True
            if len(got) != len(wanted):
                print(f"{len(got)} lines instead of {len(wanted)}")
                failed = True
        print(f"{len(wanted)} lines of {'results, some different' if failed else 'equal results'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""ptxas_options.py: checks the statements of docs/options.md about ptxas: which options change its code, and how."""

import subprocess
import sys
import tempfile
from pathlib import Path

import tools

ROOT = Path(__file__).resolve().parents[2]
PTX = ROOT / "test/cli/ptxas-options.ptx"

# Option, level: a text that only the code with the option contains; None: the code is the same.
CODE = [
    ("--make-errors-visible-at-exit", "-O3", "ERRBAR"),
    ("--sp-bounds-check", "-O3", "BPT.TRAP"),
    ("--optimize-float-atomics", "-O3", "SHFL.BFLY"),
    ("--sp-bounds-check", "-O0", None),
    ("--dont-merge-basicblocks", "-O3", None),
    ("--return-at-end", "-O3", None),
    ("--device-stack-protector=true", "-O3", None),
    ("--suppress-stack-size-warning", "-O3", None),
]
# Options, and a text that only cuobjdump's listing of the file with the last of them contains.
FILES = [
    (["--make-errors-visible-at-exit"], "EIATTR_GEN_ERRBAR_AT_EXIT"),
    (["--compiler-annotations"], "EIATTR_ANNOTATIONS"),
    (["--sanitize=memcheck"], "__cuda_sanitizer_memcheck"),
    (["-arch=sm_80", "--preserve-relocs"], ".nv.resolvedrela"),
    (["--extensible-whole-program"], "ET_EWP"),
]
REFUSED = ["--compile-as-tools-patch"]


def main() -> int:
    ptxas, nvdisasm, cuobjdump = map(tools.find, ("ptxas", "nvdisasm", "cuobjdump"))
    if not (ptxas and nvdisasm and cuobjdump):
        print("skipped: ptxas, nvdisasm and cuobjdump are not all installed")
        return 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        cubin = str(Path(folder) / "k.cubin")

        def assemble(*options: str) -> bool:
            return subprocess.run([ptxas, *([] if "-arch=sm_80" in options else ["-arch=sm_90"]), *options, str(PTX), "-o", cubin], capture_output=True).returncode == 0

        def shown(*command: str) -> str:
            return subprocess.run([*command, cubin], capture_output=True, text=True, check=True).stdout

        for option, level, text in CODE:
            assemble(level)
            without = shown(nvdisasm, "-c")
            assemble(level, option)
            code = shown(nvdisasm, "-c")
            if text is None and code != without or text is not None and (text not in code or text in without):
                wrong.append(f"{level} {option}")
        for options, text in FILES:
            assemble(*options[:-1])
            without = shown(cuobjdump, "-elf")
            assemble(*options)
            if text in without or text not in shown(cuobjdump, "-elf"):
                wrong.append(f"{' '.join(options)}: {text}")
        wrong += [f"{option}: not refused" for option in REFUSED if assemble(option)]
    for line in wrong:
        print(f"ptxas differs from docs/options.md: {line}")
    print(f"{len(CODE) + len(FILES) + len(REFUSED)} facts, {len(wrong)} wrong")
    return len(wrong) != 0


if __name__ == "__main__":
    sys.exit(main())

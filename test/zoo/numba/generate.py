#!/usr/bin/env python3
"""Compiles kernels.py with numba-cuda, optimised for several chips, with lines, and for debugging: generate.py OUTPUT [NAME_PART]"""
import pathlib
import sys

import kernels
from numba import cuda

VARIANTS = {
    "sm_90": {"cc": (9, 0)}, "debug.sm_90": {"cc": (9, 0), "debug": True, "opt": False}, "lines.sm_80": {"cc": (8, 0), "lineinfo": True},
    "sm_75": {"cc": (7, 5)}, "sm_89": {"cc": (8, 9)}, "fast.sm_90": {"cc": (9, 0), "fastmath": True}, "sm_80": {"cc": (8, 0)},
}


def main():
    output, part, failures = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "", []
    output.mkdir(parents=True, exist_ok=True)
    folder = str(pathlib.Path(__file__).resolve().parent)
    for variant, options in VARIANTS.items():
        for kernel, types in kernels.KERNELS:
            target = output / f"{kernel.__name__}.{variant}.ptx"
            if part not in target.name or target.exists():
                continue
            try:
                ptx, _ = cuda.compile_ptx(kernel, types, **options)
            except Exception as error:  # of many kinds, the compiler's own among them
                failures.append(f"{target.name} ({str(error).strip().splitlines()[-1]})")
                continue
            target.write_text(ptx.replace(folder, "."), encoding="utf-8")
    print(f"{len(list(output.glob('*.ptx')))} files; not compiled: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

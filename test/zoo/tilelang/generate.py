#!/usr/bin/env python3
"""Compiles the kernels of kernels.py with TileLang to CUDA, and that with nvcc to PTX, without a GPU: generate.py OUTPUT [NAME_PART]"""
import inspect
import pathlib
import sys

import kernels
import tilelang

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import cuda_source  # noqa: E402

CHIPS = ("sm_80", "sm_90a")
LIBRARY = pathlib.Path(tilelang.__file__).parent


def main():
    output, part, failures = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "", []
    output.mkdir(parents=True, exist_ok=True)
    # What the CUDA code includes: TileLang's templates and CUTLASS.
    include = [folder for folder in (LIBRARY / "src", LIBRARY / "3rdparty/cutlass/include") if folder.is_dir()]
    for chip in CHIPS:
        for name, kernel in inspect.getmembers(kernels, inspect.isfunction):
            target = output / f"{name}.{chip}.ptx"
            if name.startswith("_") or part not in target.name or target.exists():
                continue
            try:
                with tilelang.tvm.target.Target({"kind": "cuda", "arch": chip}) as chosen:
                    source = tilelang.lower(kernel(), target=chosen).kernel_source
                cuda_source.compile_to_ptx(source, chip, target, include)
            except Exception as error:  # of many kinds, the compiler's own among them
                failures.append(f"{target.name} ({str(error).strip().splitlines()[-1][:200]})")
    print(f"{len(list(output.glob('*.ptx')))} files; not compiled: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

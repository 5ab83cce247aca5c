#!/usr/bin/env python3
"""Compiles the tensor expressions of computations.py with TVM to CUDA, and that with nvcc to PTX: generate.py OUTPUT [NAME_PART]"""
import inspect
import pathlib
import sys

import computations
import tvm
from tvm import te
from tvm.s_tir import dlight

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import cuda_source  # noqa: E402

CHIPS = ("sm_80", "sm_90")
RULES = (dlight.gpu.Matmul, dlight.gpu.GEMV, dlight.gpu.Reduction, dlight.gpu.GeneralReduction, dlight.gpu.Fallback)


def source_of(name, tensors, chip):
    """The CUDA code of one computation."""
    module = tvm.IRModule({name: te.create_prim_func(tensors).with_attr("global_symbol", name)})
    target = tvm.target.Target({"kind": "cuda", "arch": chip}, host={"kind": "c"})
    with target:
        module = dlight.ApplyDefaultSchedule(*(rule() for rule in RULES))(module)
    return tvm.compile(module, target=target).mod.imports[0].inspect_source("cuda")


def main():
    output, part, failures = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "", []
    output.mkdir(parents=True, exist_ok=True)
    for chip in CHIPS:
        for name, computation in inspect.getmembers(computations, inspect.isfunction):
            target = output / f"{name}.{chip}.ptx"
            if name.startswith("_") or part not in target.name or target.exists():
                continue
            try:
                cuda_source.compile_to_ptx(source_of(name, computation(), chip), chip, target)
            except Exception as error:  # of many kinds, the compiler's own among them
                failures.append(f"{target.name} ({str(error).strip().splitlines()[-1][:200]})")
    print(f"{len(list(output.glob('*.ptx')))} files; not compiled: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compiles the kernels of this folder to PTX, with neither a GPU nor an assembler: generate.py OUTPUT [NAME_PART]"""
import os
import pathlib
import sys
import tempfile
import traceback
import types

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

LIBRARY = str(pathlib.Path(triton.__file__).parent)
FAMILIES = ("matmul", "attention", "tensor", "elementwise", "rows", "memory", "order")
PTX_VERSIONS = {90: 90, 80: 84, 75: 80, 89: 87, 100: 90, 120: 90}  # in the order in which they are made


def without_assembler(*stage):
    """Triton calls this for its cache key, and passes its stages."""
    if stage:
        stage[1]["cubin"] = lambda source, metadata: b""
    return "no assembler", "no assembler"


def load(family):
    """A module with a relative file name, so that the line information in the PTX contains no local folder."""
    file = family + ".py"
    module = types.ModuleType(family)
    module.__file__ = file
    sys.modules[family] = module
    exec(compile(pathlib.Path(file).read_text(encoding="utf-8"), file, "exec"), module.__dict__)
    return module


def compile_case(case, capability, target):
    """In a separate process, because LLVM aborts it on a fatal error. Returns whether the file exists now."""
    child = os.fork()
    if child == 0:
        try:
            types_by_name, attributes = case.signature()
            options = {"num_warps": case.warps, "num_stages": case.stages, "ptx_version": PTX_VERSIONS[capability], **case.options}
            source = ASTSource(case.kernel, types_by_name, case.constants, attributes)
            compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
            target.write_text(compiled.asm["ptx"].replace(LIBRARY, "triton"), encoding="utf-8")
            os._exit(0)
        except BaseException:  # of many kinds, the compiler's own among them
            print(traceback.format_exc().strip().splitlines()[-1], file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def main():
    output, part = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else ""
    output.mkdir(parents=True, exist_ok=True)
    os.chdir(pathlib.Path(__file__).parent)
    sys.path.insert(0, "")
    triton.knobs.runtime.add_stages_inspection_hook = without_assembler
    failures = []
    with tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = cache
        cases = [case for family in FAMILIES for case in load(family).CASES]
        for capability in PTX_VERSIONS:
            for case in (c for c in cases if min(capability, 90) in c.targets):
                target = output / f"{case.name}.sm_{capability}.ptx"
                if part in target.name and not target.exists() and not compile_case(case, capability, target):
                    failures.append(target.name)
    print(f"{len(list(output.glob('*.ptx')))} files; not compiled: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

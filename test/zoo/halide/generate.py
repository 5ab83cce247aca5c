#!/usr/bin/env python3
"""Compiles the pipelines of pipelines.py with Halide for several chips: generate.py OUTPUT [NAME_PART]"""
import inspect
import pathlib
import sys
import tempfile

import halide as hl
import pipelines

CAPABILITIES = (80, 75, 86)


def main():
    output, part, failures = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "", []
    output.mkdir(parents=True, exist_ok=True)
    found = inspect.getmembers(pipelines, lambda thing: inspect.isfunction(thing) and not thing.__name__.startswith("_"))
    with tempfile.TemporaryDirectory() as scratch:
        for capability in CAPABILITIES:
            target = hl.Target(f"x86-64-linux-no_runtime-cuda-cuda_capability_{capability}")
            for name, pipeline in found:
                place, code = output / f"{name}.sm_{capability}.ptx", pathlib.Path(scratch) / name
                if part not in place.name or place.exists():
                    continue
                try:
                    function, inputs = pipeline()
                    function.compile_to({hl.OutputFileType.device_code: str(code)}, inputs, name, target)
                except Exception as error:  # of many kinds, the compiler's own among them
                    failures.append(f"{place.name} ({str(error).strip().splitlines()[0][:200]})")
                    continue
                place.write_bytes(code.read_bytes().rstrip(b"\0"))
    print(f"{len(list(output.glob('*.ptx')))} files; not compiled: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

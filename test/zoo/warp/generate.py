#!/usr/bin/env python3
"""Compiles the kernels of this folder with Warp, each with its adjoint and without: generate.py OUTPUT [NAME_PART]

A module of Warp is one PTX file, with one kernel here.
"""
import itertools
import pathlib
import sys
import tempfile

import geometry
import particles
import tiles
import warp as wp

CHIPS = (90, 75, 80, 89)
MODULES = (particles, geometry, tiles)


def main():
    output, part, failures = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "", []
    output.mkdir(parents=True, exist_ok=True)
    wp.config.quiet = True
    with tempfile.TemporaryDirectory() as cache:
        wp.config.kernel_cache_dir = cache
        wp.init()
        modules = {}
        for chip, kernel, backward in itertools.product(CHIPS, (k for module in MODULES for k in module.KERNELS), (True, False)):
            name = kernel.key + (".adjoint" if backward else "")
            target = output / f"{name}.sm_{chip}.ptx"
            if part not in target.name or target.exists():
                continue
            if name not in modules:
                modules[name] = wp.Kernel(func=kernel.func, key=kernel.key, module=wp.context.Module(name.replace(".", "_"), None)).module
                modules[name].options["enable_backward"] = backward
            folder = pathlib.Path(cache) / target.stem
            try:
                wp.compile_aot_module(modules[name], arch=chip, module_dir=folder, use_ptx=True)
                [ptx] = folder.rglob("*.ptx")
            except Exception as error:  # of many kinds, the compiler's own among them
                failures.append(f"{target.name} ({str(error).strip().splitlines()[0][:200]})")
                continue
            target.write_bytes(ptx.read_bytes().rstrip(b"\0"))  # Warp also writes the terminating zero
    print(f"{len(list(output.glob('*.ptx')))} files; not compiled: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

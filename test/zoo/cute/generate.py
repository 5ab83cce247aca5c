#!/usr/bin/env python3
"""Compiles kernels.py with CuTe DSL: generate.py OUTPUT [NAME_PART]

The DSL keeps its PTX on request. It then requires a driver to load it, which is not needed here: its error about that
is ignored.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

CHIPS = ("sm_90a", "sm_80", "sm_100a", "sm_120a")


def compile_kernel(kernel, source, result, folder, chip):
    """In a separate process, because chip and folder are read once."""
    os.environ.update(CUTE_DSL_ARCH=chip, CUTE_DSL_KEEP_PTX="1", CUTE_DSL_DUMP_DIR=folder, CUTE_DSL_DISABLE_FILE_CACHING="1")
    import cutlass
    import cutlass.cute as cute
    import kernels
    from cutlass.cute import runtime

    function = getattr(kernels, kernel)

    @cute.jit
    def launch(x: cute.Pointer, y: cute.Pointer, n: cutlass.Int32):
        layout = cute.make_layout((kernels.N,))
        function(cute.make_tensor(x, layout), cute.make_tensor(y, layout), n).launch(grid=(kernels.N // 128, 1, 1), block=(128, 1, 1))

    pointers = [runtime.make_ptr(getattr(cutlass, kind), 16, cute.AddressSpace.gmem, assumed_align=16) for kind in (source, result)]
    cute.compile(launch, *pointers, 7)


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    if len(sys.argv) == 6:
        compile_kernel(*sys.argv[1:])
        return
    output, part, failures = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "", []
    output.mkdir(parents=True, exist_ok=True)
    import kernels

    for chip in CHIPS:
        for kernel, *types in kernels.KERNELS:
            source, result = (kind.__name__ for kind in types)
            target = output / f"{kernel.__name__}_{source.lower()}.{chip}.ptx"
            if part not in target.name or target.exists():
                continue
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, __file__, kernel.__name__, source, result, folder, chip], cwd=folder, capture_output=True,
                                      text=True, check=False)
                found = list(pathlib.Path(folder).glob("*.ptx"))
                if not found:
                    failures.append(f"{target.name} ({(done.stderr.strip().splitlines() or ['no message'])[-1][:300]})")
                    continue
                target.write_bytes(found[0].read_bytes().rstrip(b"\0"))
    print(f"{len(list(output.glob('*.ptx')))} files; not compiled: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()

"""compilers.py: the Python package with the real Triton and numba-cuda, as far as they are installed; no GPU is needed. By hand:

    python3 -m venv v && v/bin/pip install triton numba-cuda[cu13] && v/bin/pip install orias-*.whl && v/bin/python test/install/compilers.py
"""

import tempfile
import textwrap
import unittest
from importlib import util
from pathlib import Path

import orias


@unittest.skipUnless(util.find_spec("triton"), "no Triton")
class Triton(unittest.TestCase):
    def test_a_kernel_is_assembled_by_orias(self):
        import triton
        from triton.backends.compiler import GPUTarget

        # Triton reads the source of a kernel from its file.
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "add_kernel.py")
            source.write_text(
                textwrap.dedent(
                    """
                    import triton
                    import triton.language as tl

                    @triton.jit
                    def add(x, y, out, n, BLOCK: tl.constexpr):
                        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                        mask = at < n
                        tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)
                    """
                )
            )
            spec = util.spec_from_file_location("add_kernel", source)
            module = util.module_from_spec(spec)
            spec.loader.exec_module(module)
            signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
            described = triton.compiler.ASTSource(fn=module.add, signature=signature, constexprs={"BLOCK": 1024})
            for capability in 90, 100, 120:
                with self.subTest(capability), orias.Triton() as recorded:
                    compiled = triton.compile(described, target=GPUTarget("cuda", capability, 32))
                self.assertEqual(list(recorded.kernels), ["add"])
                self.assertEqual(recorded.kernels["add"].cubin, compiled.asm["cubin"])
                self.assertTrue("LDG.E" in recorded.kernels["add"].listing)


@unittest.skipUnless(util.find_spec("numba_cuda"), "no numba-cuda")
class Numba(unittest.TestCase):
    def test_the_linker_returns_orias_cubin(self):
        from numba import cuda, float32
        from numba.cuda.cudadrv import driver

        def scale(x, factor):
            at = cuda.grid(1)
            if at < x.size:
                x[at] *= factor

        ptx, _ = cuda.compile(scale, (float32[::1], float32), device=False, abi="numba", cc=(9, 0))
        with orias.Numba() as recorded:
            linker = driver._Linker(cc=(9, 0), lto=False)
            linker.add_ptx(ptx.encode() if isinstance(ptx, str) else ptx)
            made = linker.complete()
        self.assertEqual(len(recorded.kernels), 1)
        (kernel,) = recorded.kernels.values()
        self.assertEqual(made.code, kernel.cubin)
        self.assertIn("FMUL", kernel.listing)


if __name__ == "__main__":
    unittest.main()

"""The Python package: assembling, errors, running, and contexts for compilers that are stood in for here."""

import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/python"))
import orias  # noqa: E402

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 p) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
"""


class Assembling(unittest.TestCase):
    def test_a_cubin_and_what_is_known_of_it(self):
        done = orias.assemble(KERNEL, listing=True, remarks=True, kernel_info=True)
        self.assertEqual(done.cubin[:4], b"\x7fELF")
        self.assertEqual([f.name for f in done.functions], ["store"])
        self.assertGreaterEqual(done.functions[0].registers, 4)
        self.assertEqual(done.functions[0].warps, done.functions[0].max_warps)
        self.assertIn("STG.E", done.listing)
        self.assertTrue(all(r["function"] == "store" for r in done.remarks))
        self.assertEqual(done.kernel_info[0]["function"], "store")
        self.assertIn("<table>", done._repr_html_())
        self.assertIn("STG.E", done._repr_html_())

    def test_nothing_that_was_not_asked_for(self):
        done = orias.assemble(KERNEL)
        self.assertEqual((done.listing, done.remarks, done.kernel_info), ("", [], []))

    def test_options_and_knobs_have_an_effect(self):
        self.assertLess(len(orias.assemble(KERNEL, opt_level=3).cubin), len(orias.assemble(KERNEL, opt_level=0, options=["-g"]).cubin))
        default = orias.assemble(KERNEL, listing="plain").listing
        self.assertNotEqual(default, orias.assemble(KERNEL, knobs={"RegAllocSpillEverything": True}, listing="plain").listing)

    def test_two_modules_are_one_program(self):
        other = KERNEL.replace("store(", "second(")
        self.assertEqual(len(orias.assemble([KERNEL, other]).functions), 2)

    def test_an_error_has_its_line_and_column(self):
        with self.assertRaises(orias.AssemblyError) as caught:
            orias.assemble(KERNEL.replace("mov.u32", "foo.u32"))
        self.assertEqual((caught.exception.line, caught.exception.column), (7, 3))
        self.assertIn("foo", str(caught.exception))
        self.assertEqual(caught.exception.diagnostics[0].severity, "error")

    def test_wrong_options_and_chips_are_errors_of_their_own(self):
        for call in ({"arch": "sm_12"}, {"knobs": {"Nonsense": 1}}, {"options": ["--nonsense"]}, {"options": ["-o=x"]}):
            with self.assertRaises(orias.OptionError, msg=str(call)):
                orias.assemble(KERNEL, **call)

    def test_a_virtual_architecture_only_checks(self):
        self.assertEqual(orias.assemble(KERNEL, "compute_90").cubin, b"")

    def test_versions(self):
        self.assertRegex(orias.version(), r"^\d+\.\d+\.\d+$")
        self.assertEqual(orias.ptx_versions()[-1], "9.0")


class Running(unittest.TestCase):
    def test_a_launch_file(self):
        done = orias.run(SOURCE / "examples/saxpy.json")
        self.assertTrue(done.good)
        self.assertGreater(done.cycles, 0)
        self.assertGreater(done.warp_instructions, 0)
        self.assertIn("as expected", done._repr_html_())

    def test_the_interpreter_estimates_no_cycles(self):
        self.assertIsNone(orias.run(SOURCE / "examples/saxpy.json", assemble=False).cycles)

    def test_a_dictionary_with_a_wrong_expectation(self):
        launch = {
            "file": "kernel.ptx",
            "kernel": "store",
            "grid": 1,
            "block": 4,
            "buffers": [{"name": "b", "type": "u32", "count": 1, "expected": "77"}],
            "arguments": [{"buffer": "b"}],
        }
        with tempfile.TemporaryDirectory() as folder:
            old = os.getcwd()
            os.chdir(folder)
            try:
                Path("kernel.ptx").write_text(KERNEL)
                done = orias.run(launch)
                self.assertEqual(os.listdir("."), ["kernel.ptx"])
            finally:
                os.chdir(old)
        self.assertFalse(done.good)
        self.assertTrue(done.completed)

    def test_what_cannot_be_run_is_an_error(self):
        with self.assertRaises(orias.RunError):
            orias.run("no-such-file.json")


class Triton(unittest.TestCase):
    def test_kernels_are_recorded_and_the_environment_comes_back(self):
        os.environ["TRITON_PTXAS_PATH"] = "before"
        with tempfile.TemporaryDirectory() as folder, orias.Triton(knobs={"RegAllocSpillEverything": 1}) as recorded:
            ptxas = os.environ["TRITON_PTXAS_PATH"]
            self.assertIn("release", subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout)
            ptx = Path(folder, "a.ptx")
            ptx.write_text(KERNEL)
            # Triton's way to call it.
            subprocess.run([ptxas, "-lineinfo", "-v", "--gpu-name=sm_90", str(ptx), "-o", str(ptx.with_suffix(".o"))], check=True, stderr=subprocess.DEVNULL)
            made = ptx.with_suffix(".o").read_bytes()
        self.assertEqual(os.environ.pop("TRITON_PTXAS_PATH"), "before")
        self.assertNotIn("TRITON_CACHE_DIR", os.environ)
        self.assertEqual(list(recorded.kernels), ["store"])
        self.assertEqual(recorded.kernels["store"].cubin, made)
        self.assertIn("STG.E", recorded.kernels["store"].listing)


class Numba(unittest.TestCase):
    """A stand-in for the part of numba-cuda that is called; test/install/compilers.py has the real one."""

    def setUp(self):
        class ObjectCode:
            def __init__(self, kind, code, name=""):
                self.code_type, self.code, self.name = kind, code, name

        for kind in ("ptx", "cubin", "object"):
            setattr(ObjectCode, f"from_{kind}", staticmethod(lambda code, name="", kind=kind: ObjectCode(kind, code, name)))

        class Linker:
            arch, max_registers, lineinfo = "sm_90", None, False

            def __init__(self, *codes):
                self._object_codes = list(codes)

            def complete(self):
                return "linked", [code.code_type for code in self._object_codes]

        driver = types.ModuleType("numba.cuda.cudadrv.driver")
        driver._Linker, driver.ObjectCode = Linker, ObjectCode
        self.modules = {}
        for name in ("numba", "numba.cuda", "numba.cuda.cudadrv"):
            self.modules[name] = types.ModuleType(name)
        self.modules["numba.cuda.cudadrv"].driver = driver
        self.modules[driver.__name__] = driver
        self.saved = {name: sys.modules.get(name) for name in self.modules}
        sys.modules.update(self.modules)
        self.driver = driver

    def tearDown(self):
        for name, module in self.saved.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module

    def test_one_module_becomes_a_cubin_several_become_objects(self):
        code = self.driver.ObjectCode.from_ptx(KERNEL.encode() + b"\0", name="k")
        with orias.Numba() as recorded:
            alone = self.driver._Linker(code).complete()
            linked, kinds = self.driver._Linker(code, self.driver.ObjectCode.from_cubin(b"", name="other")).complete()
        self.assertEqual(alone.code_type, "cubin")
        self.assertEqual(alone.code, orias.assemble(KERNEL).cubin)
        self.assertEqual(list(recorded.kernels), ["store"])
        self.assertEqual((linked, kinds), ("linked", ["object", "cubin"]))
        self.assertEqual(self.driver._Linker(code).complete(), ("linked", ["ptx"]))

    def test_a_newer_version_of_ptx_is_lowered(self):
        version = KERNEL.split(".version ")[1].split()[0]
        newer = self.driver.ObjectCode.from_ptx(KERNEL.replace(f".version {version}", ".version 99.9").encode(), name="k")
        with orias.Numba():
            made = self.driver._Linker(newer).complete()
        newest = KERNEL.replace(f".version {version}", f".version {orias.ptx_versions()[-1]}")
        self.assertEqual(made.code, orias.assemble(newest).cubin)


if __name__ == "__main__":
    unittest.main()

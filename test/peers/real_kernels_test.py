#!/usr/bin/env python3
"""Whether real_kernels.py reports that kernels agree, and, with an assembler that makes another program, that they
differ.

real_kernels_test.py ORIAS_RUN FILE.ptx...
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import real_kernels  # noqa: E402
import tools  # noqa: E402

# Replaces orias: additions of the program become subtractions.
WRONG = """#!/usr/bin/env python3
import pathlib, subprocess, sys
arguments = sys.argv[1:]
source = next(a for a in arguments if a.endswith(".ptx"))
text = pathlib.Path(source).read_text().replace("add.s32", "sub.s32").replace("fma.rn.f32", "fma.rz.f32").replace("add.f32", "sub.f32")
changed = pathlib.Path({folder!r}) / "changed.ptx"
changed.write_text(text)
sys.exit(subprocess.run([{orias!r}] + [str(changed) if a == source else a for a in arguments]).returncode)
"""


# Replaces orias: correct code that executes more instructions.
SLOW = """#!/usr/bin/env python3
import subprocess, sys
sys.exit(subprocess.run([{orias!r}, "-O0"] + sys.argv[1:]).returncode)
"""


def stand_in(folder, orias_run, program):
    """Creates a folder with another assembler and orias-run. Returns the path of orias-run there."""
    (folder / "orias-run").symlink_to(pathlib.Path(orias_run).resolve())
    other = folder / "orias"
    other.write_text(program.format(folder=str(folder), orias=str(pathlib.Path(orias_run.removesuffix("-run")).resolve())))
    other.chmod(0o755)
    return str(folder / "orias-run")


class Budget(real_kernels.Runner):
    """Records the number of thread instructions only of runs of ptxas' cubin."""

    used = ()

    def run(self, launch, first, *options, **more):
        found = super().run(launch, first, *options, **more)
        if not options and found["completed"]:
            self.used += (found["threadInstructions"],)
        return found


def keeps_slow_code(folder, orias_run, file):
    """Whether code that needs more instructions than ptxas' agrees, if the budget is the number for ptxas' code."""
    arguments = argparse.Namespace(orias_run=stand_in(folder, orias_run, SLOW), arch="sm_90", budget=20_000_000, keep=None, stats=False)
    runner = Budget(arguments)
    runner.file(file)
    runner.budget = max(runner.used)
    return [result.verdict for result in runner.file(file)] == ["agrees"]


def verdict(orias_run, files):
    script = str(pathlib.Path(__file__).resolve().parent / "real_kernels.py")
    done = subprocess.run([sys.executable, script, "--orias-run", orias_run, *files], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip().splitlines()[-1]


DECLARED = """
.entry k (.param .u64 %in_ar0);
.visible .entry k (.param .u64 %in_ar0)
{ .reg .u64 %r; ld.param.u64 %r, [%in_ar0]; st.global.u32 [%r], 7; ret; }
"""


HIDDEN = """
.entry k
{ .param .u64 p; .param .s32 n; .reg .u64 address, sum; .reg .u32 r<3>;
  ld.param.s32 r1, [n];
  .loc 18 64 0
  ld.param.u64 address, [p];
  add.u64 sum, address, 4;
  st.global.u32 [sum], r1; ret; }
"""
TEXTURES = """
.tex .u64 noise;
.global .texref unused;
.entry k (.param .u64 p)
{ .reg .f32 %f<9>; tex.3d.v4.f32.f32 {%f1,%f2,%f3,%f4},[noise,{%f5,%f6,%f7,%f8}]; ret; }
"""
STRUCTURE = """
.entry k (.param .align 8 .b8 s[16])
{ .reg .u64 %p, %n; ld.param::entry.b64 %n, [s+8]; ld.param::entry.b64 %p, [s]; st.global.u64 [%p], %n; ret; }
"""


def pointers_are_found():
    """After .loc, in registers without %, in parameters that the body declares; textures of the module that are read.
    """
    [kernel] = real_kernels.kernels_of(HIDDEN)
    [reader] = real_kernels.kernels_of(TEXTURES)
    return (list(kernel.pointers) == [(0, 0)] and [p[0] for p in kernel.parameters] == ["u64", "s32"]
            and [t["name"] for t in reader.launch(1, 64)["textures"]] == ["noise"])


def declarations_are_no_kernels():
    """gcc declares its kernels first, and gives parameters names like registers."""
    [kernel] = real_kernels.kernels_of(DECLARED)
    return kernel.name == "k" and list(kernel.pointers) == [(0, 0)]


def fields_are_found():
    """Including those that ld.param::entry reads."""
    [kernel] = real_kernels.kernels_of(STRUCTURE)
    [argument] = kernel.launch(5, 64)["arguments"]
    return argument["fields"] == [{"buffer": "p0_0"}, {"type": "u64", "value": 5}]

# Tabs after opcodes; a product is added to a parameter.
TABS = """.version 8.7
.target sm_90
.address_size 64
.visible .entry k (.param .u64 data0, .param .u64 data1)
{
\t.reg\t\t.u64 %d<2>;
\t.reg\t\t.u64 %b<2>;
\t.reg\t\t.f32 %v;
\tld.param.u64\t%d0, [data0+0];
\tld.param.u64\t%d1, [data1+0];
\tcvt.s64.s32\t%b0, 5;
\tmad.lo.s64\t%b0, %b0, 4, %d0;
\tmad.lo.s64\t%b1, %b0, 4, %d1;
\tld.global.f32\t%v, [%b0+0];
\tst.global.f32\t[%b1+0], %v;
\tret;
}
"""


def tabs_and_products_with_numbers_are_read():
    [kernel] = real_kernels.kernels_of(TABS)
    return sorted(kernel.pointers) == [(0, 0), (1, 0)]


def tables_are_found():
    text = """.func (.param .b32 r) twice(.param .b32 a);
.visible .func once() { ret; }
.global .align 8 .u64 table[4] = {twice, 4, 4, once};
.visible .global .align 8 .u64 plain = once;
.global .align 8 .u64 others[2] = {generic(table), 3};
.global .align 4 .b8 text[2] = {1, 2};
"""
    return real_kernels.function_tables(text) == {"table", "plain"}


def main():
    if not tabs_and_products_with_numbers_are_read():
        sys.exit("pointers behind tabs, or behind products with numbers, are not found")
    if not fields_are_found():
        sys.exit("the fields of a structure are not found")
    if not declarations_are_no_kernels():
        sys.exit("the kernel behind its declaration is not understood")
    if not pointers_are_found():
        sys.exit("pointers or textures of old PTX are not found")
    if not tables_are_found():
        sys.exit("variables with functions in their initial values are not found")
    orias_run, files = sys.argv[1], sys.argv[2:]
    if not tools.find("ptxas"):
        print("skipped, no peer: ptxas")
        return
    status, line = verdict(orias_run, files)
    if status != 0 or " agrees" not in line:
        sys.exit(f"kernels that agree are said to be: {line}")
    with tempfile.TemporaryDirectory() as folder:
        status, line = verdict(stand_in(pathlib.Path(folder), orias_run, WRONG), files)
        if status != 1 or " differs" not in line:
            sys.exit(f"kernels of another program are said to be: {line}")
    with tempfile.TemporaryDirectory() as folder:
        if not keeps_slow_code(pathlib.Path(folder), orias_run, pathlib.Path(files[0])):
            sys.exit("code that executes more instructions than ptxas' is said to differ")
    print("kernels that agree do, and those of another program differ")


if __name__ == "__main__":
    main()

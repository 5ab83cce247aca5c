#!/usr/bin/env python3
"""What each level of rematerialization does, as tables: two kernels, with register limits.

    remat_levels.py --orias-run build/release/bin/orias-run [--limits 255 32 24] [--markdown docs/remat.md]

`test_this` is the kernel "Test This" of the public description: eight loads at tid + k*n, three stores. `addresses` loads from
twelve addresses out + 4*(tid^c), computes in a loop, and stores to them. All results are compared with the PTX interpreter's.
--markdown replaces the tables between the two marks of the page.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import marked_page

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import tools  # noqa: E402

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
OFF = ["do-remat=0", "remat-iv=0", "simplify-live-out=0", "nv-remat-block=0", "remat-for-occ=1000"]
LEVELS = {
    "all levels (default)": [],
    "none before allocation": OFF,
    "none at all": [*OFF, "RegAllocRematEnable=0"],
    "only `do-remat=1`": ["do-remat=1", *OFF[1:]],
    "only `do-remat=2`": ["do-remat=2", *OFF[1:]],
    "only `do-remat=3`": ["do-remat=3", *OFF[1:]],
    "only `simplify-live-out=1`": [OFF[0], OFF[1], "simplify-live-out=1", *OFF[3:]],
    "only `simplify-live-out=2`": [OFF[0], OFF[1], "simplify-live-out=2", *OFF[3:]],
    "only `simplify-live-out=3`": [OFF[0], OFF[1], "simplify-live-out=3", *OFF[3:]],
    "only `nv-remat-block=1`": [*OFF[:3], "nv-remat-block=1", OFF[4]],
    "only `nv-remat-block=2`": [*OFF[:3], "nv-remat-block=2", OFF[4]],
    "only `nv-remat-block=6`": [*OFF[:3], "nv-remat-block=6", OFF[4]],
    "only `nv-remat-block=14`": [*OFF[:3], "nv-remat-block=14", OFF[4]],
    "all, `remat-before-sched=1`": ["remat-before-sched=1"],
}


def test_this(limits):
    lines = ["ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [n];",
             "cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;",
             "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;",
             "setp.ge.s32 %p1, %r5, %r1; @%p1 bra END;"]
    for k in range(8):
        lines.append(f"mul.lo.s32 %r6, %r1, {k}; add.s32 %r7, %r5, %r6; mul.wide.s32 %rd3, %r7, 4; add.s64 %rd4, %rd1, %rd3; "
                     f"ld.global.nc.f32 %f{k}, [%rd4];")
    for k, (a, b, c) in enumerate([(0, 1, 2), (3, 4, 5), (6, 7, 0), (1, 2, 3), (4, 5, 6)]):
        lines.append(f"fma.rn.f32 %f{k + 10}, %f{a}, %f{b}, %f{c};")
    for k, (a, b) in enumerate([(10, 11), (12, 13), (14, 10)]):
        lines.append(f"add.f32 %f20, %f{a}, %f{b}; mul.lo.s32 %r6, %r1, {k}; add.s32 %r7, %r5, %r6; "
                     "mul.wide.s32 %rd3, %r7, 4; add.s64 %rd4, %rd2, %rd3; st.global.f32 [%rd4], %f20;")
    body = "\n  ".join([".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<30>; .reg .pred %p<3>;", *lines, "END: ret;"])
    return f"{HEAD}.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{limits}\n{{\n  {body}\n}}\n"


def addresses(limits):
    lines = ["ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.param.u32 %r1, [n];",
             "cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; mov.u32 %r2, %tid.x;"]
    for c in range(12):
        lines.append(f"xor.b32 %r3, %r2, {c}; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd{10 + c}, %rd2, %rd3; "
                     f"ld.global.f32 %f{c}, [%rd{10 + c}];")
    lines += ["bar.sync 0;", "mov.u32 %r4, 0;", "LOOP:", "ld.global.f32 %f20, [%rd1];"]
    lines += [f"fma.rn.f32 %f{c}, %f{c}, %f20, 0f3F000000;" for c in range(12)]
    lines += ["add.s64 %rd1, %rd1, 4; add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %r1; @%p1 bra LOOP;"]
    # Each lane stores to its own places: in the order of c, by blocks of sixteen that exchange nothing.
    lines += [f"st.global.f32 [%rd{10 + c}+{4096 * (c + 1)}], %f{c};" for c in range(12)]
    body = "\n  ".join([".reg .b64 %rd<30>; .reg .b32 %r<9>; .reg .f32 %f<30>; .reg .pred %p<3>;", *lines, "ret;"])
    return f"{HEAD}.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{limits}\n{{\n  {body}\n}}\n"


def launch(name, count):
    def buffer(what, seed):
        init = {"generator": "random", "seed": seed, "low": -1, "high": 1}
        return {"name": what, "type": "f32", "count": 32768, "init": init}

    return {"file": f"{name}.ptx", "kernel": "k", "grid": 1, "block": 256, "buffers": [buffer("in", 1), buffer("out", 2)],
            "arguments": [{"buffer": "in"}, {"buffer": "out"}, {"type": "u32", "value": count}]}


def spills_of(said):
    found = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def figures(compiler, run_program, folder, name, options):
    cubin = str(folder / f"{name}.cubin")
    done = subprocess.run([*compiler, "-arch=sm_90", "-v", *options, str(folder / f"{name}.ptx"), "-o", cubin],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    said = done.stdout + done.stderr
    registers = re.search(r"Used (\d+) registers", said)[1]
    program = [run_program, str(folder / f"{name}.json")]
    same = json.loads(subprocess.run([*program, cubin, "--json", "--compare", str(folder / f"{name}.ptx")], capture_output=True,
                                     text=True, check=False).stdout)
    if not same["completed"] or same.get("different"):
        sys.exit(f"{name}: other results with {' '.join(options)}")
    stats = json.loads(subprocess.run([*program, cubin, "--json", "--stats", "--full-machine"], capture_output=True, text=True,
                                      check=False).stdout)["stats"]
    stores, loads = spills_of(said)
    return [f"{registers}, {stats['full machine: resident warps']:g}", f"{stores}, {loads}", f"{stats['warp instructions']:,.0f}",
            f"{stats['estimated cycles']:,.0f}, {stats['full machine: cycles per block']:,.0f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias-run", required=True)
    parser.add_argument("--limits", type=int, nargs="+", default=[255, 32, 24])
    parser.add_argument("--markdown", type=pathlib.Path, help="write the tables into this page")
    options = parser.parse_args()
    orias = str(pathlib.Path(options.orias_run).with_name("orias"))
    ptxas = tools.find("ptxas")
    text = ""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for name, kernel, count in (("test_this", test_this, 256), ("addresses", addresses, 20)):
            (folder / f"{name}.json").write_text(json.dumps(launch(name, count)))
            text += f"\n**`{name}`**\n\n| limit | level | registers, warps | spilled (stores, loads) | executed | cycles: launch, full machine |\n"
            text += "|---|---|---|---|---|---|\n"
            for limit in options.limits:
                # Launch bounds outdo -maxrregcount, so the kernel has its limit itself.
                bounds = ".maxntid 256" + (f" .maxnreg {limit}" if limit < 255 else "")
                (folder / f"{name}.ptx").write_text(kernel(bounds))
                rows = {}  # levels with equal figures share a line
                for level, knobs in LEVELS.items():
                    found = figures([orias], options.orias_run, folder, name, [f"--knob={knob}" for knob in knobs])
                    rows.setdefault(tuple(found or ["refused", "", "", ""]), []).append(level)
                if ptxas and (found := figures([ptxas], options.orias_run, folder, name, [])):
                    rows.setdefault((*found, ""), []).append("ptxas")
                for figure, levels in rows.items():
                    if len(levels) == len(LEVELS):
                        levels = ["each"]
                    text += f"| {limit} | {'; '.join(levels)} | {' | '.join(figure[:4])} |\n"
    print(text)
    if options.markdown:
        marked_page.replace(options.markdown, "levels", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

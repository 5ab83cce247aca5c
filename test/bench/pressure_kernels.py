#!/usr/bin/env python3
"""Compares the code for each kernel of test/zoo/clang/pressure.cu with that of ptxas, as tables.

    pressure_kernels.py --orias-run build/release/bin/orias-run [--arch sm_90 sm_80] [--markdown docs/pressure.md]

clang++ compiles the kernels. Each is launched on the emulator with one block of 256 threads. Its memory must equal that of the
PTX interpreter (without contraction). --markdown replaces the tables between the two marks of the page.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import marked_page

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import tools  # noqa: E402

SOURCE = HERE.parent / "zoo" / "clang" / "pressure.cu"
CLANG = ["clang++", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-std=c++17", "--cuda-gpu-arch=sm_80",
         "-Wno-unknown-cuda-version", "-Xclang", "-target-feature", "-Xclang", "+ptx72", "-O2", "-S"]
ELEMENTS = 65536
# Kernel, its arguments (a type is a buffer), and the first ratio to ptxas' cycles that was measured for a similar kernel.
KERNELS = [
    ("masked_add", "s32 s32 s32 1000", "1.8"),
    ("multiply_tiles", "f32 f32 f32 64", "2.25"),
    ("convolve_7x7", "f32 f32 f32 300", "5.4"),
    ("md5", "u32 u32", ""),
    ("sha1", "u32 u32", ""),
    ("divide_five", "s32 s32 3 5 7 11 13", "2.05"),
    ("gelu_backward", "f32 f32 f32", "1.8"),
    ("exchange_all", "u32", "3.8"),
    ("histogram_of_bytes", "u32 u32 4096", "1.9"),
    ("normalize_backward", "f32 f32 f32 128", "2 to 3"),
    ("products_of_bytes", "s32 s32 s32 64", ""),
    ("sum_tree", "f32 f32", ""),
    ("chains", "f32 f32 0.5f", ""),
    ("stencil_25", "f32 f32 14", ""),
    ("transform_16", "f32", ""),
]


def launch(file, kernel, arguments):
    buffers, values = [], []
    for argument in arguments.split():
        if argument in ("f32", "s32", "u32"):
            init = {"generator": "random", "seed": len(buffers) + 1}
            init |= {"low": -1, "high": 1} if argument == "f32" else {}
            buffers.append({"name": f"buffer{len(buffers)}", "type": argument, "count": ELEMENTS, "init": init})
            values.append({"buffer": buffers[-1]["name"]})
        elif argument.endswith("f"):
            values.append({"type": "f32", "value": float(argument[:-1])})
        else:
            values.append({"type": "s32", "value": int(argument)})
    return {"file": file, "kernel": kernel, "grid": 1, "block": 256, "buffers": buffers, "arguments": values}


def figures(compiler, run_program, description, ptx):
    """(registers, warps, bytes of spill stores and loads, executed, launch, full machine)"""
    kernel, cubin = json.loads(description.read_text())["kernel"], str(description.with_suffix(".cubin"))

    def compiled(*flags):
        done = subprocess.run([*compiler, "-v", *flags, "-e", kernel, str(ptx), "-o", cubin], capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    def ran(*flags):
        done = subprocess.run([run_program, str(description), cubin, "--json", *flags], capture_output=True, text=True, check=False)
        return json.loads(done.stdout)

    compiled("-fmad=false")
    same = ran("--compare", str(ptx))
    if not same["completed"] or same.get("different"):
        sys.exit(f"{kernel}: other results than the interpreter with {compiler[0]}")
    said = compiled()
    spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    stats = ran("--stats", "--full-machine")["stats"]
    return (int(re.search(r"Used (\d+) registers", said)[1]), stats["full machine: resident warps"], int(spilled[1]) + int(spilled[2]),
            stats["warp instructions"], stats["estimated cycles"], stats["full machine: cycles per block"])


def table(compilers, arch, run_program, ptx):
    text = (f"\n**{arch}**\n\n"
            "| kernel | registers | warps | spilled | executed | launch | full machine | launch: first ratio | ratio | full machine: ratio |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n")
    for kernel, arguments, first in KERNELS:
        description = ptx.with_name(f"{kernel}.json")
        description.write_text(json.dumps(launch(ptx.name, kernel, arguments)))
        found = [figures(compiler, run_program, description, ptx) for compiler in compilers]
        cells = ["; ".join(f"{row[i]:,.0f}" for row in found) for i in range(6)]
        ratios = [f"{found[0][i] / found[1][i]:.2f}" for i in (4, 5)] if len(found) == 2 else ["", ""]
        text += f"| `{kernel}` | {' | '.join(cells)} | {first} | {' | '.join(ratios)} |\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias-run", required=True)
    parser.add_argument("--arch", nargs="+", default=["sm_90", "sm_80"])
    parser.add_argument("--markdown", type=pathlib.Path, help="write the tables into this page")
    options = parser.parse_args()
    programs = [str(pathlib.Path(options.orias_run).with_name("orias")), tools.find("ptxas")]
    with tempfile.TemporaryDirectory() as scratch:
        ptx = pathlib.Path(scratch) / "pressure.ptx"
        subprocess.run([*CLANG, "-o", str(ptx), str(SOURCE)], check=True)
        text = "".join(table([[program, f"-arch={arch}"] for program in programs if program], arch, options.orias_run, ptx)
                       for arch in options.arch)
    print(text)
    if options.markdown:
        marked_page.replace(options.markdown, "kernels", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

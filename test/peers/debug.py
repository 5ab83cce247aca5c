#!/usr/bin/env python3
"""debug.py BUILD/bin/orias [PTX...]: the debug information of our cubins, compared with ptxas'.

Programs (the .cu files of debug/, compiled to PTX by nvcc -G, or the given PTX) are assembled by both with -g, as whole
programs and as objects. The lists of debug sections must be the same, and so must readelf's decoding of .debug_info
except addresses, which depend on the code. Our line table must have the lines of ptxas' except those of branches to the
next instruction, which we do not emit. nvdisasm must accept every word. Prints that it was skipped if there is no
ptxas, or neither nvcc nor PTX.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import elf
import tools

PROGRAMS = pathlib.Path(__file__).resolve().parent / "debug"
CHIPS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def names(cubin):
    """The debug sections; the number after .nv_debug_ptx_txt depends on the text."""
    found = (re.sub(r"\.\d+$", "", name) for name, _ in elf.sections(cubin.read_bytes()))
    return {name for name in found if re.match(r"\.debug_|\.nv_debug_(info|line|ptx)", name)}


def entries(cubin):
    """The decoded .debug_info without addresses of code, offsets in frames, and offsets in shared memory."""
    text = output("readelf", "--debug-dump=info", cubin)
    text = re.sub(r"(DW_AT_(?:low|high)_pc\s*): .*", r"\1", text)
    text = re.sub(r": 91 .*DW_OP_fbreg: -?\d+[^+]*?(DW_OP_plus_uconst: \d+)?\)$", r": frame \1", text, flags=re.M)
    text = re.sub(r"3 [0-9a-f]{1,2} [4-9] 0 0 0 0 0 0 .*DW_OP_addr: [4-9][0-9a-f]{2}\)", "shared", text)
    return text.splitlines()[2:]


def lines(cubin):
    return set(re.findall(r"(?m)^\S+\.cu\S*\s+(\d+)\s", output("readelf", "--debug-dump=decodedline", cubin)))


def check(orias, ptxas, nvdisasm, ptx, chip, options, folder, extra=()):
    """The errors in the cubin of one program; `extra` are options of orias only."""
    ours, theirs = folder / "ours.cubin", folder / "theirs.cubin"
    output(ptxas, "-g", f"-arch={chip}", *options, ptx, "-o", theirs)
    output(orias, "-g", f"-arch={chip}", *options, *extra, ptx, "-o", ours)
    faults = []
    if names(ours) != names(theirs):
        faults.append(f"sections {names(ours) ^ names(theirs)}")
    for mine, wanted in zip(entries(ours), entries(theirs)):
        if mine != wanted:
            faults.append(f"{mine.strip()} instead of {wanted.strip()}")
            break
    if len(entries(ours)) != len(entries(theirs)) or len(entries(theirs)) < 10:
        faults.append("another number of entries")
    if lines(ours) != lines(theirs):
        faults.append(f"lines {sorted(lines(ours) ^ lines(theirs), key=int)}")
    said = subprocess.run([nvdisasm, "-g", ours], capture_output=True, text=True)
    if said.returncode != 0 or "error" in said.stderr or re.search(r"\?\?|INVALID", said.stdout):
        faults.append(f"nvdisasm: {said.stderr}")
    return faults


def main():
    orias, given = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    ptxas, nvcc, nvdisasm, readelf = map(tools.find, ("ptxas", "nvcc", "nvdisasm", "readelf"))
    if not ptxas or not nvdisasm or not readelf or not (nvcc or given):
        print("skipped, no ptxas, nvdisasm, readelf or nvcc")
        return 0
    agreed = tried = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for source in given or sorted(PROGRAMS.glob("*.cu")):
            for chip in CHIPS:
                # For sm_100 and later nvcc aligns the frame of a called function to 16 bytes here. Our code then aligns
                # the stack pointer itself, and the unwind table cannot describe the frame.
                if source.stem == "functions" and int(chip[3:]) >= 100:
                    continue
                ptx = source
                if not given:
                    ptx = folder / f"{source.stem}.ptx"
                    output(nvcc, "-G", f"-arch={chip}", "-ptx", source, "-o", ptx)
                elif f".target {chip}" not in source.read_text():
                    continue
                for options in ([], ["-c"]):
                    tried += 1
                    faults = check(orias, ptxas, nvdisasm, ptx, chip, options, folder)
                    if not check(orias, ptxas, nvdisasm, ptx, chip, options, folder, ["--suppress-debug-info"]):
                        faults.append("nothing is missing where all of it is")  # verifies the check itself
                    for fault in faults:
                        print(f"{source.name}, {chip}{' -c' if options else ''}: {fault}")
                    agreed += not faults
    print(f"{agreed} of {tried} cubins agree")
    return 0 if agreed == tried and tried else 1


if __name__ == "__main__":
    sys.exit(main())

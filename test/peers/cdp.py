#!/usr/bin/env python3
"""cdp.py BUILD/bin/orias: programs whose kernels launch kernels (cdp/) link with CUDA's device runtime, and run.

nvcc compiles each to PTX, orias and ptxas assemble that to objects, nvlink links these with libcudadevrt. The undefined
symbols of the two objects and their launch facts must be the same. For sm_90, the PTX, the two linked files and our
unlinked object run with the launch that has the program's name, with children run at their launches, and at the end of
their parents. All must leave the memory that the launch expects. Prints that it was skipped if a tool is missing.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import elf
import tools

PROGRAMS = pathlib.Path(__file__).resolve().parent / "cdp"
CHIPS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
RUN_ON = "sm_90"


def undefined(data):
    """The undefined symbols of an object."""
    parts = dict(elf.sections(data))
    table, names = parts[".symtab"], parts[".strtab"]
    found = set()
    for at in range(24, len(table), 24):
        name, section = int.from_bytes(table[at : at + 4], "little"), int.from_bytes(table[at + 6 : at + 8], "little")
        # Tables of unified addresses, which ptxas references in each object that takes the address of a function.
        if section == 0 and not names.startswith((b"__UFT", b"__UDT"), name):
            found.add(names[name : names.index(b"\0", name)].decode())
    return {name for name in found if name and not name.startswith(".")}  # no sections


def linked(nvlink, library, chip, objects, to):
    command = [nvlink, f"-arch={chip}", "--suppress-stack-size-warning", *objects, f"-L{library}", "-lcudadevrt", "-o", to]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{objects}: {done.stdout}{done.stderr}"
    return to.read_bytes()


def check(orias, peers, library, program, chip, folder):
    ptx = folder / f"{program.stem}.ptx"
    subprocess.run([peers["nvcc"], f"-arch={chip}", "-rdc=true", "-ptx", program, "-o", ptx], check=True, capture_output=True)
    objects, cubins, files = {}, {}, [ptx]
    for name, tool in (("orias", orias), ("ptxas", peers["ptxas"])):
        path = folder / f"{program.stem}.{name}.cubin"
        subprocess.run([tool, f"-arch={chip}", "-c", ptx, "-o", path], check=True)
        objects[name] = path.read_bytes()
        to = folder / f"{program.stem}.{name}.linked.cubin"
        cubins[name] = linked(peers["nvlink"], library, chip, [path], to)
        files += [to] + [path] * (name == "orias")
    needs = {name: undefined(data) for name, data in objects.items()}
    assert needs["orias"] == needs["ptxas"], f"{program.stem} {chip}: {needs}"
    assert any(name.startswith("__cudaCDP2LaunchDevice") for name in needs["orias"]), needs
    own = re.findall(r"\.entry (\w+)", ptx.read_text())
    kernels = {}
    for name, data in cubins.items():
        facts = elf.launch_facts(data)
        kernels[name] = {k: [facts[k].get(what) for what in ("KPARAM_INFO", "CBANK_PARAM_SIZE")] for k in own}
    assert kernels["orias"] == kernels["ptxas"], f"{program.stem} {chip}: {kernels}"
    if chip == RUN_ON:
        run(pathlib.Path(orias).with_name("orias-run"), program.with_suffix(".json"), files)


def run(orias_run, launch, files):
    for file in files:
        for order in ([], ["--children-last"]):
            done = subprocess.run([orias_run, launch, file, *order], capture_output=True, text=True)
            assert done.returncode == 0 and "as expected" in done.stdout, f"{file.name} {order}: {done.stdout}{done.stderr}"


def main():
    orias, peers = sys.argv[1], {name: tools.find(name) for name in ("nvcc", "ptxas", "nvlink")}
    missing = [name for name, path in peers.items() if path is None]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return 0
    told = subprocess.run([peers["nvcc"], "-dryrun", "x.cu"], capture_output=True, text=True).stderr
    folders = [pathlib.Path(f) for f in re.findall(r'"-L([^"]+)"', told)]
    library = next((f for f in folders if (f / "libcudadevrt.a").exists()), None)
    if library is None:
        print("skipped: there is no libcudadevrt.a")
        return 0
    programs = sorted(PROGRAMS.glob("*.cu"))
    with tempfile.TemporaryDirectory() as scratch:
        for program in programs:
            for chip in CHIPS:
                check(orias, peers, library, program, chip, pathlib.Path(scratch))
    print(f"{len(programs)} programs link on {', '.join(CHIPS)}, with the symbols and kernels of ptxas' objects, and run")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""objects.py BUILD/bin/orias BUILD/bin/orias-run: relocatable objects are linked with those of ptxas.

Programs in two files (the folders of objects/) are assembled by orias and by ptxas, and linked by nvlink in all
combinations. The linked programs run on the emulator and must leave the same memory as the one from ptxas alone.
nvlink's call graph (-dump-callgraph) must not depend on the assembler either, if orias inlines no calls. Then each
assembler makes a whole program, and an object, from both files at once. Prints that it was skipped if there is no ptxas
or nvlink.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import tools

OBJECTS = pathlib.Path(__file__).resolve().parent / "objects"
FILES = ("caller", "callee")
CHIPS = ("sm_75", "sm_80", "sm_87", "sm_90", "sm_100", "sm_120")  # sm_86 and sm_89 have the relocations of sm_80
CALLS = ["--knob", "InlineInObjects=0", "--knob", "do-clone-for-ip-msp=0"]  # as in ptxas' objects
# Whether the assembler is orias, and its options.
VARIANTS = {
    "ptxas": (False, ["-O3"]),
    "orias": (True, ["-O3", *CALLS]),
    "orias-O0": (True, ["-O0"]),
    "orias-g": (True, ["-g"]),
    "orias-narrow": (True, ["-O3", *CALLS, "-maxrregcount=24", "-lineinfo"]),
    "orias-inlined": (True, ["-O3"]),
}


def results(run, program, cubin, folder):
    """The contents of `out` after the launch."""
    launch = json.loads((program / "launch.json").read_text())
    launch["file"] = str(cubin)
    launch["buffers"][0]["print"] = launch["buffers"][0]["count"]
    del launch["$schema"]
    path = folder / "launch.json"
    path.write_text(json.dumps(launch))
    done = subprocess.run([run, path], capture_output=True, text=True)
    assert done.returncode == 0, f"{cubin.name}: {done.stdout}{done.stderr}"
    # Without the number of executed instructions.
    return "\n".join(line for line in done.stdout.splitlines() if "thread instructions" not in line)


def call_graph(text):
    """The call graph: a set of names, with the prefix `^` for kernels and `&` for functions whose address is taken, and
    their possible callees. Register counts and the order of the functions are left out."""
    functions = {int(n): (name, calls) for n, name, calls in re.findall(r"(?m)^(\d+): (\S+) (?:\[\d+\] )?->(.*)$", text)}
    return {(name, tuple(sorted(functions[int(n)][0] for n in set(calls.split())))) for name, calls in functions.values()}


def together(tool, isOurs, run, nvlink, chip, options, folder):
    """What is left when both files are given to one call: as a whole program, and as an object that nvlink links."""
    texts = {file: (folder / f"{file}.ptx").read_text() for file in FILES}
    if not isOurs:
        # ptxas requires that a function is declared before another input defines it, with the same linkage.
        texts["caller"] = texts["caller"].replace(".extern .func", ".visible .func")
    files = []
    for file, text in texts.items():
        files.append(folder / f"both-{file}.ptx")
        files[-1].write_text(text)
    whole, object_, linked = (folder / f"both.{kind}" for kind in ("whole.cubin", "o", "linked.cubin"))
    subprocess.run([tool, f"-arch={chip}", *options, *files, "-o", whole], check=True)
    subprocess.run([tool, f"-arch={chip}", "-c", *options, *files, "-o", object_], check=True)
    subprocess.run([nvlink, f"-arch={chip}", "--suppress-stack-size-warning", object_, "-o", linked], check=True, capture_output=True)
    return [results(run, folder.program, cubin, folder) for cubin in (whole, linked)]


def together(tool, isOurs, options, run, nvlink, program, chip, folder):
    """What is left when both files are given to one call: as a whole program, and as an object that nvlink links."""
    texts = {file: (folder / f"{file}.ptx").read_text() for file in FILES}
    if not isOurs:
        # ptxas refuses declarations of functions that an earlier input has defined, and `.extern` ones before that. It
        # does not distinguish two private functions of the same name in different inputs.
        texts["caller"] = texts["caller"].replace(".extern .func", ".visible .func")
        texts["callee"] = re.sub(r"(?s)\.extern \.func[^;]*;", "", texts["callee"])
        for name in set(re.findall(r"(?m)^\.func [^;{]*?\) (\w+)", texts["caller"])):
            texts["callee"] = re.sub(rf"\b{name}\b", f"{name}OfCallee", texts["callee"])
    files = []
    for file, text in texts.items():
        files.append(folder / f"both-{file}.ptx")
        files[-1].write_text(text)
    whole, object_, linked = (folder / f"both.{kind}" for kind in ("whole.cubin", "o", "linked.cubin"))
    subprocess.run([tool, f"-arch={chip}", *options, *files, "-o", whole], check=True, capture_output=True)
    subprocess.run([tool, f"-arch={chip}", "-c", *options, *files, "-o", object_], check=True, capture_output=True)
    subprocess.run([nvlink, f"-arch={chip}", "--suppress-stack-size-warning", object_, "-o", linked], check=True, capture_output=True)
    return [results(run, program, cubin, folder) for cubin in (whole, linked)]


def check(orias, run, ptxas, nvlink, program, chip, folder):
    """How many of the linked programs agree, and of how many."""
    for file in FILES:
        text = (program / f"{file}.ptx").read_text()
        text = re.sub(r"(?m)^\.target sm_\d+$", f".target {chip}", text)
        if int(chip[3:]) >= 100:
            text = re.sub(r"(?m)^\.version .*$", ".version 9.0", text)
        (folder / f"{file}.ptx").write_text(text)
    for name, (isOurs, options) in VARIANTS.items():
        if not isOurs and chip == "sm_75" and program.name == "stack":
            options = ["-O0"]  # else it has ST.E [R.U32+UR], which our instruction table lacks for this chip
        for file in FILES:
            made = folder / f"{file}.{name}.o"
            subprocess.run([orias if isOurs else ptxas, f"-arch={chip}", "-c", *options, folder / f"{file}.ptx", "-o", made], check=True)
    nvdisasm = tools.find("nvdisasm")
    for made in sorted(folder.glob("*.orias*.o")) if nvdisasm else ():
        said = subprocess.run([nvdisasm, made], capture_output=True, text=True)
        assert said.returncode == 0 and "error" not in said.stderr, f"{program.name}: nvdisasm refuses {made.name}: {said.stderr}"
    left = {}
    for first in VARIANTS:
        for second in VARIANTS:
            if "-g" in first + second and first != second and "ptxas" not in (first, second):
                continue  # a combination with ptxas suffices
            if "inlined" in first + second and first != second and "ptxas" not in (first, second):
                continue  # likewise
            if "narrow" in first + second and first != second:
                continue  # nvlink does not let a kernel call functions with more registers than its limit
            cubin = folder / f"{first}.{second}.cubin"
            objects = [folder / f"caller.{first}.o", folder / f"callee.{second}.o"]
            linked = subprocess.run([nvlink, f"-arch={chip}", "--suppress-stack-size-warning", "-dump-callgraph", *objects, "-o", cubin],
                                    check=True, capture_output=True, text=True)
            calls = None if "inlined" in first + second else call_graph(linked.stdout + linked.stderr)
            left[first, second] = (results(run, program, cubin, folder), calls)
    wanted = left["ptxas", "ptxas"]
    assert len(re.findall(r"\d+", wanted[0])) >= 32 and len(wanted[1]) >= 2, wanted
    failed = [pair for pair, got in left.items() if got[0] != wanted[0] or got[1] not in (None, wanted[1])]
    for pair in failed:
        what = "results" if left[pair][0] != wanted[0] else f"call graph {left[pair][1] ^ wanted[1]}"
        print(f"{program.name}, {chip}: caller by {pair[0]}, callee by {pair[1]}: other than of ptxas' own program: {what}")
    agreed, tried = len(left) - len(failed), len(left)
    if program.name == "linkage":
        return agreed, tried  # one call does not accept two global definitions of a name
    for name, (isOurs, options) in VARIANTS.items():
        if "-g" in options:
            continue
        if not isOurs and chip == "sm_75" and program.name == "stack":
            options = ["-O0"]  # as above
        for how, got in zip(("a whole program", "an object"), together(orias if isOurs else ptxas, isOurs, options, run, nvlink, program, chip, folder)):
            tried += 1
            agreed += got == wanted[0]
            if got != wanted[0]:
                print(f"{program.name}, {chip}: {how} of both files by {name}: other results than of ptxas' own program")
    return agreed, tried


def main():
    orias, run = sys.argv[1:3]
    ptxas, nvlink = tools.find("ptxas"), tools.find("nvlink")
    if not ptxas or not nvlink:
        print("skipped, no ptxas or nvlink")
        return 0
    agreed = tried = 0
    for program in sorted(path.parent for path in OBJECTS.glob("*/launch.json")):
        for chip in CHIPS:
            if chip == "sm_120" and program.name == "textures":
                continue  # ptxas' texture instruction computes the level of detail there, which the emulator cannot
            with tempfile.TemporaryDirectory() as name:
                some, all_ = check(orias, run, ptxas, nvlink, program, chip, pathlib.Path(name))
            agreed, tried = agreed + some, tried + all_
    print(f"{agreed} of {tried} programs agree")
    return 0 if agreed == tried else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs kernels of real PTX files on the emulator, assembled by orias and by ptxas, and compares the memory.

    real_kernels.py --orias-run build/release/bin/orias-run [--arch sm_90] [--jobs N] [--keep DIR] [--stats] FILE_OR_FOLDER...

The required arguments of these kernels are not known, so they are made up. The text shows which parameters are pointers
(values that are added to and dereferenced). The others get a small number, a smaller one if the kernel accesses memory
outside its buffers. A kernel counts as run if ptxas' cubin completes and has changed memory. Both programs are
assembled without contraction (-fmad=false), because the two compilers may contract differently. Kernels whose results
depend on the order of threads are identified by the PTX interpreter, and by ptxas' cubin at -O0. --stats adds the
executed warp instructions of both cubins, their estimated cycles, for the launch as it is and for a full machine, and
the number of resident warps per multiprocessor; contraction is then allowed.

Exits with 1 if a kernel leaves other memory than ptxas' without an explanation.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare  # noqa: E402
import tools  # noqa: E402

ENTRY = re.compile(r"^\s*(?:\.visible\s+|\.weak\s+)*\.entry\s+([\w$]+)\s*(?:\(([^()]*)\))?([^{;]*)\{", re.S | re.M)
PARAM = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+((?:\.ptr[^,]*?)?)\s*(%?[\w$]+)(?:\[(\d+)\])?\s*$", re.S)
REGISTER = re.compile(r"%[\w.]+")
ADDRESS = re.compile(r"\[\s*(%\w+)\s*(?:\+\s*(-?\d+))?\s*\]")
SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}
FLOATS = {"f16": "f16", "f32": "f32", "f64": "f64", "bf16": "bf16"}
ELEMENTS = 1 << 16
# Sizes of dynamic shared memory in bytes that are tried before the maximum of a block.
SHARED_STEPS = [kib << 10 for kib in (1, 2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 128, 160)]
# The value of parameters that are not pointers, and the threads of a block if the program does not specify them: the
# first with which the kernel completes is used.
ATTEMPTS = [(64, 64), (32, 64), (16, 64), (7, 64), (1, 64), (256, 64), (64, 256), (1024, 256), (16, 32), (128, 128), (512, 512)]


# What --stats takes from the report of orias-run.
# Nearly what a block may have, where that is less than 192 KiB.
DYNAMIC_SHARED = {"75": 65536, "80": 163840, "87": 163840} | dict.fromkeys(("86", "88", "89", "120", "121"), 98304)
STATS = {"executed": "warp instructions", "cycles": "estimated cycles", "full_cycles": "full machine: cycles per block",
         "resident_warps": "full machine: resident warps"}
CONTRACTED = re.compile(r"\b(?:mul|add|sub)(?:\.ftz|\.sat)*\.(?:f16|f16x2|bf16|bf16x2|f32|f64)\b")
FUNCTION = re.compile(r"\.func\s+(?:\([^()]*\)\s*)?([\w$]+)")
INITIALISED = re.compile(r"^[^/\n]*\.global\s[^;={]*?([\w$]+)(?:\[\d*\])*\s*=\s*([^;]*);", re.M)
NAME = re.compile(r"[\w$]+")
EXACT = "-fmad=false"
SECONDS = 120  # for one run of orias-run
SLOWER = 8  # instruction budget of ours, the interpreter and -O0, as a multiple of ptxas'


class Result(typing.NamedTuple):
    """The outcome of a kernel; `figures` holds those of STATS, and with the prefix ptxas_ those of ptxas."""

    kernel: str
    verdict: str
    said: str = ""
    figures: dict = {}


def bytes_of(type_name):
    return SIZES[re.sub(r"\D", "", type_name.removesuffix("x2"))] * (2 if type_name.endswith("x2") else 1)


def with_percent_signs(body, others):
    """The text with % before the registers that are declared without one; `others` are names of parameters."""
    declared = set()  # patterns; r<3> declares r0, r1 and r2
    for names in re.findall(r"\.reg\s+(?:\.\w+\s+)+([^;]*);", body):
        for name, count in re.findall(r"(?<![%\w$.<])([A-Za-z_$][\w$]*)(<)?", names):
            if name not in others:
                declared.add(re.escape(name) + (r"\d+" if count else ""))
    if not declared:
        return body
    return re.sub(r"(?<![\w$%.])(" + "|".join(sorted(declared)) + r")(?![\w$])", r"%\1", body)


class Kernel:
    """The information in the text of one entry about its parameters: `parameters` are (type, size in bytes, alignment,
    name), `pointers` maps (parameter, offset) to the types of accesses through it, `nested` those after a pointer in
    memory, `textures` (parameter, offset) to a view of a buffer, `named_textures` names of the module's."""

    def __init__(self, name, parameters, directives, body):
        # Old versions of PTX declare parameters in the body.
        texts = re.split(r",", parameters) if parameters else re.findall(r"(\.param\s[^;]*);", re.split(r"[{]|ld\.|call", body)[0])
        self.parameters = [self.parameter(text) for text in texts if text.strip()]
        self.name, self.directives = name, directives
        self.body = with_percent_signs(re.sub(r"^\s*\.(?:loc|file)\s.*$", "", body, flags=re.M), {p[3] for p in self.parameters})
        self.pointers = collections.defaultdict(collections.Counter)
        self.nested = collections.defaultdict(collections.Counter)
        self.textures, self.named_textures = {}, {}
        for _ in range(2):  # again for loop-carried values
            self.walk()

    @staticmethod
    def parameter(text):
        found = PARAM.search(text.strip())
        if not found:
            raise ValueError(f"parameter {text.strip()!r}")
        align, kind, pointer, name, count = found.groups()
        size = bytes_of(kind) * int(count or 1)
        return kind, size, int(align or bytes_of(kind)), name, bool(pointer), count is not None

    def walk(self):
        """Follows addresses from ld.param through moves and additions to the accesses."""
        index = {p[3]: k for k, p in enumerate(self.parameters)}
        taint = self.taint = getattr(self, "taint", {})
        for statement in self.body.split(";"):
            words = re.sub(r"^[{}\s]*(?:[\w$]+:\s*)*[{}\s]*(?:@!?%\w+\s+)?", "", statement).strip()
            opcode, operands = (*words.split(maxsplit=1), "", "")[:2]
            if opcode.startswith("ld.param"):
                found = re.search(r"(\{[^}]*\}|%\w+)\s*,\s*\[\s*(%?[\w$]+)\s*(?:\+\s*(\d+))?\s*\]", operands)
                if found and found[2] in index:
                    width = bytes_of(opcode.rsplit(".", 1)[1])
                    for k, register in enumerate(REGISTER.findall(found[1])):
                        taint.setdefault(register, set()).add(("at", index[found[2]], int(found[3] or 0) + k * width))
                continue
            base = opcode.split(".")[0]
            if base in ("mov", "cvta", "add", "sub", "mad", "selp", "and", "or", "min", "max"):
                registers = REGISTER.findall(operands)
                sources = REGISTER.findall(operands.rsplit(",", 1)[-1]) if base == "mad" else registers[1:]
                if registers and sources and re.search(r"64$", opcode):
                    taint[registers[0]] = taint.get(registers[0], set()).union(*(taint.get(r, ()) for r in sources))
            elif base in ("ld", "ldu", "st", "atom", "red", "cp"):
                self.access(opcode, operands, taint)
            elif base in ("tex", "tld4", "txq", "suld", "sust", "suq", "sured"):
                self.texture(opcode, operands, taint)

    def access(self, opcode, operands, taint):
        kinds = [k for k in opcode.split(".") if re.fullmatch(r"[bsuf](8|16|32|64)|bf16|f16x2|bf16x2", k)]
        kind = kinds[-1] if kinds else "b32"
        for register, _ in ADDRESS.findall(operands):
            for how, parameter, offset in list(taint.get(register, ())):
                (self.pointers if how == "at" else self.nested)[parameter, offset][kind] += 1
                if opcode.startswith("ld") and kind in ("u64", "b64", "s64") and how == "at":
                    for target in REGISTER.findall(operands.split("[")[0]):
                        taint.setdefault(target, set()).add(("behind", parameter, offset))

    def texture(self, opcode, operands, taint):
        handle = re.search(r"\[\s*(%?[\w$]+)", operands)
        shape = re.search(r"\.(a?[12]d|3d)\b", opcode)
        if not handle or not shape:
            return
        bits = re.search(r"\.b(8|16|32|64)\b", opcode)
        channels = 4 if opcode.startswith("t") else int((re.search(r"\.v([24])\b", opcode) or [0, 1])[1])
        results = re.match(r"(?:\.\w+)*?\.v[24]\.(\w+)", opcode[opcode.find("."):])
        kind = "f32" if ".f32" in opcode and not (results and results[1] in ("s32", "u32")) else f"u{bits[1]}" if bits else "u32"
        view = (shape[1], kind, channels)
        if not handle[1].startswith("%"):
            self.named_textures.setdefault(handle[1], view)
        for how, parameter, offset in taint.get(handle[1], ()):
            if how == "at":
                self.textures.setdefault((parameter, offset), view)

    def block(self, threads):
        found = re.search(r"\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", self.directives)
        if found:
            return [min(int(n or 1), 1024) for n in found.groups()]
        return [16, threads // 16, 1] if "%tid.y" in self.body else [threads, 1, 1]

    def grid(self):
        return [2, 2 if "%ctaid.y" in self.body else 1, 1]

    def launch(self, number, threads):
        """The launch file's contents with `number` in each parameter that is not a pointer, and blocks of `threads`
        threads."""
        buffers, arguments, textures = [], [], []

        def view(name, shape, kind, channels):
            size = {"1d": [64], "a1d": [64, 4], "2d": [32, 16], "a2d": [32, 16, 4], "3d": [16, 8, 8]}[shape]
            init = {"generator": "random", "seed": 7 + len(textures), "low": 0, "high": 4}
            buffers.append({"name": name + "_texels", "type": kind, "count": math.prod(size) * channels, "init": init,
                            "expected": init})
            textures.append({"name": name, "buffer": name + "_texels", "shape": shape, "size": size, "channels": channels})

        def texture(at):
            name = f"t{at[0]}_{at[1]}"
            view(name, *self.textures[at])
            return {"texture": name}

        def buffer(name, kinds):
            common = collections.Counter()
            for kind, count in kinds.items():
                common[kind] += count * (2 if kind in FLOATS else 1)
            kind = common.most_common(1)[0][0]
            halves = re.search(r"\bcvt\.f32\.(bf16|f16)\b|\.(bf16|f16)x2\b|\.(bf16|f16)\s", self.body)
            if bytes_of(kind) == 2 and halves:
                kind = next(filter(None, halves.groups()))
            if kind in FLOATS:
                init = {"generator": "random", "seed": len(buffers) + 1, "low": -2, "high": 2}
            else:
                kind = f"u{8 * bytes_of(kind)}"
                init = {"generator": "random", "seed": len(buffers) + 1, "low": 0, "high": 15}
            buffers.append({"name": name, "type": kind, "count": ELEMENTS, "init": init, "expected": init})
            return name

        def pointer(at):
            if at in self.textures:
                return texture(at)
            name = f"p{at[0]}_{at[1]}"
            if self.nested.get(at):
                target = buffer(name + "_target", self.nested[at])
                init = {"generator": "pointers", "targets": [{"buffer": target, "offset": 4096 * k} for k in range(32)]}
                buffers.append({"name": name, "type": "u64", "count": 64, "init": init})
                return {"buffer": name}
            return {"buffer": buffer(name, self.pointers.get(at) or {"u32": 1})}

        def scalar(kind):
            if kind in FLOATS:
                return {"type": kind, "value": 0.75}
            bits = re.sub(r"\D", "", kind)
            return {"type": ("s" if kind[0] == "s" else "u") + bits, "value": number % (1 << int(bits) - 1)}

        for name, what in self.named_textures.items():
            view(name, *what)
        for k, (kind, size, align, _, marked, array) in enumerate(self.parameters):
            known = self.pointers.keys() | self.textures.keys()
            if not array:
                arguments.append(pointer((k, 0)) if marked or (k, 0) in known else scalar(kind))
                continue
            fields, offset = [], 0
            read = sorted({(int(o or 0), t) for t, o in re.findall(
                r"ld\.param(?:::entry)?\.(?:v\d\.)?(\w+)\s+[^;]*?\[" + re.escape(self.parameters[k][3]) + r"(?:\+(\d+))?\]", self.body)})
            types = dict(read)
            while offset < size:
                if (k, offset) in known and offset % 8 == 0 and offset + 8 <= size:
                    fields.append(pointer((k, offset)))
                    offset += 8
                    continue
                field = scalar(types[offset]) if offset in types else {"type": "u32" if align % 4 == 0 and offset % 4 == 0
                                                                      and offset + 4 <= size else "u8", "value": number % 128}
                width = bytes_of(field["type"])
                if offset % width or offset + width > size:
                    field, width = {"type": "u8", "value": number % 128}, 1
                fields.append(field)
                offset += width
            arguments.append({"fields": fields, "size": size})
        chip = (re.search(r"\.target\s+sm_(\d+)", self.module) or [0, "90"])[1]
        most = DYNAMIC_SHARED.get(chip, 196608)
        dynamic = most if re.search(r"\.extern\s+\.shared", self.module) else 0
        return {"file": "kernel.ptx", "textures": textures, "kernel": self.name, "grid": self.grid(), "block": self.block(threads),
                "dynamicShared": dynamic, "buffers": buffers, "arguments": arguments}


def kernels_of(text):
    for found in ENTRY.finditer(text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        kernel = Kernel(found[1], found[2], found[3], re.sub(r"//[^\n]*", "", text[found.end():end - 1]))
        kernel.module = text
        yield kernel


def function_tables(text):
    """The variables with functions in their initial values: each assembler numbers functions differently."""
    functions = set(FUNCTION.findall(text))
    return {name for name, value in INITIALISED.findall(text) if not functions.isdisjoint(NAME.findall(value))}


class Runner:
    def __init__(self, arguments):
        self.run_program = os.path.abspath(arguments.orias_run)
        self.orias = self.run_program.removesuffix("-run")
        self.ptxas, self.arch, self.budget, self.keep = tools.find("ptxas"), arguments.arch, arguments.budget, arguments.keep
        self.has_stats = arguments.stats

    def assemble(self, compiler, source, target, *options):
        done = subprocess.run([compiler, f"-arch={self.arch}", *options, source, "-o", target], capture_output=True, text=True, check=False)
        return done.returncode == 0

    def run(self, launch, first, *options, times=1):
        """The report of a run with `times` the budget; None if the engine's output cannot be parsed."""
        try:
            done = subprocess.run([self.run_program, launch, first, "--json", "--budget", str(times * self.budget), *options],
                                  capture_output=True, text=True, check=False, timeout=SECONDS)
            return json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            return {"completed": False, "reports": [{"kind": "time", "text": f"more than {SECONDS} s"}], "wrong": []}
        except json.JSONDecodeError:
            return {"completed": False, "reports": [{"kind": "unread", "text": (done.stderr or done.stdout)[:300]}], "wrong": []}

    def file(self, path):
        """The Result of each kernel of a file."""
        text = path.read_text(encoding="utf-8", errors="replace")
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            ours, theirs = str(place / "orias.cubin"), str(place / "ptxas.cubin")
            if not (self.assemble(self.ptxas, str(path), theirs, EXACT) and self.assemble(self.orias, str(path), ours, EXACT)):
                return [Result("", "not assembled")]
            usual = (ours, theirs)
            if self.has_stats and CONTRACTED.search(text):
                usual = tuple(str(place / f"{name}.usual.cubin") for name in ("orias", "ptxas"))
                self.assemble(self.orias, str(path), usual[0])
                self.assemble(self.ptxas, str(path), usual[1])
            results, tables = [], function_tables(text)
            for kernel in kernels_of(text):
                launch = str(place / "launch.json")
                verdict, said, figures = "stops", "", {}
                for attempt in ATTEMPTS:
                    contents = kernel.launch(*attempt)
                    contents["file"] = str(path)
                    pathlib.Path(launch).write_text(json.dumps(contents, indent=1), encoding="utf-8")
                    alone = self.run(launch, theirs)
                    if not alone["completed"]:
                        said = json.dumps(alone["reports"][:1])
                        continue
                    verdict, said = self.compare(launch, ours, theirs, alone, tables)
                    if self.has_stats:
                        figures = self.figures(launch, *usual)
                    if verdict == "differs":
                        verdict = self.explain(launch, str(path), theirs)
                    if verdict == "differs" and self.keep:
                        kept = self.keep / f"{path.stem}.{kernel.name}"[:120]
                        kept.with_name(kept.name + ".json").write_text(json.dumps(contents, indent=1), encoding="utf-8")
                    if verdict != "writes nothing":
                        break
                results.append(Result(kernel.name, verdict, said, figures))
            return results

    def tighten(self, launch, theirs):
        """Reduces the dynamic shared memory of a launch to what ptxas' cubin needs, rounded up to the next of
        SHARED_STEPS, because it determines the number of blocks per multiprocessor."""
        path = pathlib.Path(launch)
        contents = json.loads(path.read_text(encoding="utf-8"))
        most = contents["dynamicShared"]
        for size in [step for step in SHARED_STEPS if step < most] + [most]:
            contents["dynamicShared"] = size
            path.write_text(json.dumps(contents, indent=1), encoding="utf-8")
            if size == most or self.run(launch, theirs)["completed"]:
                return

    def figures(self, launch, ours, theirs):
        """The figures of STATS if both cubins complete."""
        self.tighten(launch, theirs)
        found = {}
        for prefix, cubin in (("", ours), ("ptxas_", theirs)):
            run = self.run(launch, cubin, "--stats", "--full-machine", times=SLOWER)
            if not run["completed"]:
                return {}
            found |= {prefix + name: run["stats"][told] for name, told in STATS.items() if told in run["stats"]}
        return found

    def explain(self, launch, source, theirs):
        """The verdict on a difference: the fault is ours if the PTX interpreter completes without a race and with the
        same result as ptxas' cubin, and ptxas' result does not change at -O0."""
        judge = self.run(launch, source, "--racecheck", "--compare", theirs, times=SLOWER)
        if not judge["completed"]:
            return "the interpreter stops"
        if judge.get("reports"):
            return "race"
        if judge.get("different"):
            return "order of threads or precision"
        plain = theirs.removesuffix(".cubin") + ".O0.cubin"
        if self.assemble(self.ptxas, source, plain, EXACT, "-O0") and self.run(launch, plain, "--compare", theirs, times=SLOWER).get("different"):
            return "order of threads or precision"
        return "differs"

    def compare(self, launch, ours, theirs, alone, tables):
        """The verdict on a launch that ptxas' cubin completes, and the differences outside the tables of functions."""
        both = self.run(launch, ours, "--timing", "--compare", theirs, times=SLOWER)
        if any(report.get("where", "").startswith(theirs) for report in both.get("reports", [])):
            # The timing model is too strict for ptxas' code: our code complies with it, and both leave the same memory
            # without it.
            timed = self.run(launch, ours, "--timing", times=SLOWER)
            both = self.run(launch, ours, "--compare", theirs, times=SLOWER) if timed["completed"] and not timed.get("reports") else timed
        different = [found for found in both.get("different", []) if found["buffer"] not in tables]
        if not both["completed"] or different or both.get("reports"):
            return "differs", json.dumps([both.get("reports", [])[:1], different[:1]])
        return ("agrees" if alone.get("wrong") else "writes nothing"), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orias-run", required=True)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--budget", type=int, default=20_000_000, help="thread instructions of a run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the launches that differ")
    parser.add_argument("--stats", action="store_true", help="also instructions executed, estimated cycles and resident warps, ours against ptxas'")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    files = [f for p in arguments.paths for f in (sorted(p.rglob("*.ptx")) if p.is_dir() else [p])]
    runner = Runner(arguments)
    if not runner.ptxas:
        print("skipped: ptxas is not there")
        return
    counts, figures = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for path, results in zip(files, pool.map(runner.file, files)):
            for result in results:
                counts[result.verdict] += 1
                figures.append(result.figures)
                if result.verdict == "differs" or (arguments.verbose and result.verdict != "agrees"):
                    print(f"{path} {result.kernel}: {result.verdict} {result.said}", flush=True)
    for name, told in STATS.items():
        if line := compare.ratio_line(figures, name, told):
            print(line.replace(" files)", " kernels)"))
    print(f"{len(files)} files, {sum(counts.values())} kernels: " + ", ".join(f"{n} {v}" for v, n in counts.most_common()))
    sys.exit(1 if counts["differs"] else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares orias with ptxas and nvdisasm on PTX files: accepted input, code quality, time.

    compare.py --orias build/release/tools/orias/orias test/corpus/ptx        all checks on a folder
    compare.py --checks front --filter triton FOLDER                          only parse and check, only some files
    compare.py --self ptxas FOLDER                                            ptxas in both places: tests this program

Checks (each is a function below): front (parses and checks without error), assemble (makes a cubin), quality (registers
and instructions against ptxas -O3), speed (time and memory of both, same machine, best of --repeat), disassembly
(nvdisasm accepts every word and prints the same text as our listing; many files in one run of nvdisasm), facts (the
launch facts of kernels equal ptxas': barriers, parameters, shared memory, bounds). Prints a summary; --tsv and --json
write every figure. Missing peers are left out, and the summary says so. The exit status is 1 if a listing differs from
nvdisasm, nvdisasm refuses a word, a fact differs, or a file fails a check named by --require.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import pathlib
import re
import statistics
import sys
import tempfile

import elf
import listing
import reports
import sass
import tools

CHECKS = ("front", "assemble", "quality", "facts", "speed", "disassembly")
BATCH_BYTES = 4 << 20  # code disassembled at once; nvdisasm uses about 60 bytes of memory per byte


def target_of(source):
    """The sm_NN to assemble a file for: sm_90, or that of its .target if that is specific (sm_90a)."""
    match = re.search(rb"^\s*\.target\s+(sm_\d+[af]?)", source.read_bytes()[:65536], re.MULTILINE)
    name = match.group(1).decode() if match else "sm_90"
    return name if name[-1] in "af" else "sm_90"


def is_padded(ours, theirs):
    """Whether ptxas has reserved dynamic shared memory in a kernel that does not use it: it does so for all kernels of
    a file."""
    if ours is None or theirs is None:
        return ours is None
    (size, alignment), (larger, wanted) = ([int(part, 16) for part in value[0].split()] for value in (ours, theirs))
    return alignment < wanted and larger == (size + wanted - 1) // wanted * wanted


def fact_differences(cubin, peer):
    """The differences in the launch facts of two cubins. More barriers are accepted, because we may inline a body that
    ptxas does not."""
    ours, found = elf.launch_facts(cubin), []
    for kernel, wanted in elf.launch_facts(peer).items():
        if kernel not in ours:
            continue  # a function that is not inlined there
        for name in sorted(wanted.keys() | ours[kernel].keys()):
            mine, theirs = ours[kernel].get(name), wanted.get(name)
            if mine == theirs or (name == "shared" and is_padded(mine, theirs)) or (name == "NUM_BARRIERS" and mine and mine > (theirs or [])):
                continue
            found.append(f"{kernel}: {name} {mine}, ptxas {theirs}")
    return found


class Comparison:
    """The checks of one file; `row` collects the figures."""

    def __init__(self, source, root, scratch, options):
        self.source, self.options = source, options
        self.sm = options.arch or target_of(source)
        self.name = str(source.relative_to(root))
        stem = re.sub(r"\W", "_", self.name)
        self.cubin = pathlib.Path(scratch) / (stem + ".cubin")
        self.peer_cubin = pathlib.Path(scratch) / (stem + ".ptxas.cubin")
        self.listing = pathlib.Path(scratch) / (stem + ".sass")
        self.kept_cubin = options.ptxas_cubins and options.ptxas_cubins / pathlib.Path(self.name).with_suffix(".cubin")
        self.row = {"file": self.name, "bytes": source.stat().st_size, "sm": self.sm}
        self.kernels = collections.defaultdict(dict)
        self.peer_outcome = None

    def front(self):
        """Parses and checks; ptxas calls this -arch=compute_90."""
        virtual = self.sm.replace("sm_", "compute_")
        outcome = tools.run([self.options.orias, f"-arch={virtual}", str(self.source), "-o", str(self.cubin)], self.options.limit)
        self.row["front"] = outcome.ok
        self.row["front_seconds"] = outcome.seconds
        self.row["front_kilobytes"] = outcome.peak_kilobytes
        if not outcome.ok:
            self.row["front_reasons"] = self.reasons(outcome)

    def assemble(self):
        """Makes a cubin and a listing in one run."""
        command = [self.options.orias, f"-arch={self.sm}", "-v", *self.options.flags, str(self.source), "-o", str(self.cubin)]
        if not self.options.self:
            command += [f"--listing={self.listing}", "--listing-format=plain"]
        outcome = tools.run(command, self.options.limit)
        self.row["assemble"] = outcome.ok and self.cubin.exists()
        if self.row["assemble"]:
            self.row["spill_bytes"] = reports.spill_bytes(outcome.errors)
            self.figures("", self.cubin.read_bytes())
        else:
            self.row["reasons"] = self.reasons(outcome)

    def figures(self, prefix, cubin):
        """Registers and instructions of each function of a cubin."""
        for function, count in elf.registers(cubin).items():
            self.kernels[function][prefix + "registers"] = count
        for function, code in elf.code(cubin).items():
            self.kernels[function][prefix + "instructions"] = sass.instruction_count(code)

    def quality(self):
        """The same figures from ptxas -O3, or from the cubin that it made earlier."""
        if cubin := self.peer():
            self.figures("ptxas_", cubin)
        for figure in ("registers", "instructions"):
            pairs = [(k[figure], k["ptxas_" + figure]) for k in self.kernels.values() if figure in k and "ptxas_" + figure in k]
            if pairs:
                self.row[figure], self.row["ptxas_" + figure] = (sum(side) for side in zip(*pairs))

    def peer_level(self):
        """-O3, except for PTX for debugging, which ptxas refuses."""
        return [] if re.search(rb"^\s*\.target\b.*\bdebug\b", self.source.read_bytes()[:65536], re.MULTILINE) else ["-O3"]

    def peer(self):
        """The cubin of ptxas -O3 for the file, or None."""
        if self.kept_cubin and self.kept_cubin.exists():
            return self.kept_cubin.read_bytes()
        if self.options.ptxas and not self.peer_outcome:
            command = [self.options.ptxas, *self.peer_level(), f"-arch={self.sm}", "-v", *self.options.flags, str(self.source), "-o", str(self.peer_cubin)]
            self.peer_outcome = tools.run(command, self.options.limit)
            self.row["ptxas_accepts"] = self.peer_outcome.ok
            self.row["ptxas_spill_bytes"] = reports.spill_bytes(self.peer_outcome.errors)
        return self.peer_cubin.read_bytes() if self.peer_cubin.exists() else None

    def facts(self):
        """Compares the launch facts of both cubins."""
        if self.row.get("assemble") and (cubin := self.peer()):
            self.row["fact_differences"] = fact_differences(self.cubin.read_bytes(), cubin)

    def speed(self):
        """Time and memory of both programs without the listing, best of several alternating runs."""
        if not self.row.get("assemble"):
            return
        for prefix, program, arguments in (("", self.options.orias, []), ("ptxas_", self.options.ptxas, self.peer_level())):
            if program:
                command = [program, *arguments, f"-arch={self.sm}", *self.options.flags, str(self.source), "-o", str(self.cubin)]
                known = self.peer_outcome if prefix and self.options.repeat == 1 else None
                outcome = known or tools.best(command, self.options.repeat, self.options.limit)
                self.row[prefix + "seconds"] = outcome.seconds
                if self.options.jobs == 1:
                    self.row[prefix + "cpu_seconds"] = outcome.cpu_seconds
                self.row[prefix + "kilobytes"] = outcome.peak_kilobytes

    def disassembly(self):
        """Keeps the code and our listing for a run of nvdisasm over many files."""
        self.functions = []
        if self.options.nvdisasm and self.row.get("assemble"):
            ours = {} if self.options.self else listing.parse(self.listing.read_text())
            self.functions = [(name, code, ours.get(name)) for name, code in elf.code(self.cubin.read_bytes()).items()]
            self.row.update(words=sum(len(code) // sass.WORD for _, code, _ in self.functions), refused_words=[], listing_differences=[])

    def reasons(self, outcome):
        if outcome.status is None:
            return {"(out of time)": ""}
        if outcome.status < 0:
            return {f"(signal {-outcome.status})": ""}
        kinds = reports.reasons(outcome.errors)
        if outcome.status != 1 or not kinds:
            first = (outcome.errors.strip().splitlines() or ["no message"])[0]
            kinds = {f"(status {outcome.status}) {reports.blot(first)[:200]}": ""}
        return kinds

    def run(self):
        for check in CHECKS:
            if check in self.options.checks:
                getattr(self, check)()
        self.row["kernels"] = dict(self.kernels)
        for path in (self.cubin, self.peer_cubin, self.listing):
            path.unlink(missing_ok=True)
        return self


def disassemble_batch(comparisons, sm, scratch, options):
    """Disassembles every word of some files with nvdisasm, and compares the text with our listing."""
    batch = sass.Batch(options.nvdisasm, sm, pathlib.Path(scratch) / "batch.bin")
    placed = [(c.row, batch.add(code), len(code), name, mine) for c in comparisons for name, code, mine in c.functions]
    theirs, refused = batch.run()
    for row, base, size, name, mine in placed:
        ours = {} if mine is None else mine.at(base)
        for address in range(base, base + size, sass.WORD):
            place = f"{name}+{address - base:#x}"
            if address in refused:
                row["refused_words"].append(place)
                continue
            expected, got = theirs.get(address, "(nothing)"), ours.get(address, "(nothing)")
            if sass.squeeze(expected) != sass.squeeze(got) and not options.self:
                row["listing_differences"].append(f"{place}: nvdisasm {expected!r}, listing {got!r}")


class Disassembly:
    """Collects files by chip, until there are enough for a run of nvdisasm."""

    def __init__(self, scratch, options):
        self.scratch, self.options = scratch, options
        self.waiting = collections.defaultdict(list)

    def add(self, comparison):
        files = self.waiting[comparison.sm]
        files.append(comparison)
        if sum(len(code) for c in files for _, code, _ in c.functions) >= BATCH_BYTES:
            self.flush(comparison.sm)

    def flush(self, sm):
        files = self.waiting.pop(sm)
        if any(c.functions for c in files):
            disassemble_batch(files, sm, self.scratch, self.options)
        for comparison in files:
            comparison.functions = []

    def finish(self):
        for sm in sorted(self.waiting):
            self.flush(sm)


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(r) for r in ratios)) if ratios else float("nan")


def ratios_of(rows, figure):
    """The ratios of our figure to ptxas' in rows that have both: {mean, median, high (90th percentile), total, count},
    or None."""
    pairs = [(r[figure], r["ptxas_" + figure]) for r in rows if r.get(figure) and r.get("ptxas_" + figure)]
    if not pairs:
        return None
    ratios = sorted(a / b for a, b in pairs)
    return {"mean": geometric_mean(ratios), "median": statistics.median(ratios), "high": ratios[len(ratios) * 9 // 10],
            "total": sum(a for a, _ in pairs) / sum(b for _, b in pairs), "count": len(pairs)}


def ratio_line(rows, figure, what):
    """The ratios as a line of text."""
    found = ratios_of(rows, figure)
    return found and (f"{what} against ptxas -O3: mean {found['mean']:.2f}, median {found['median']:.2f}, "
                      f"90th percentile {found['high']:.2f}, in total {found['total']:.2f} ({found['count']} files)")


def ranked_reasons(rows, key, most):
    """Messages by the number of files for which they are the only obstacle, then by the number of files with them."""
    alone, anywhere, example = collections.Counter(), collections.Counter(), {}
    for row in rows:
        kinds = row.get(key, {})
        for kind, place in kinds.items():
            anywhere[kind] += 1
            example.setdefault(kind, place or row["file"])
        if len(kinds) == 1:
            alone[next(iter(kinds))] += 1
    order = sorted(anywhere, key=lambda kind: (-alone[kind], -anywhere[kind], kind))
    return [f"  {alone[k]:5} {anywhere[k]:5}  {k}   [{example[k]}]" for k in order[:most]]


def plan(rows, most):
    """The order in which to remove the reasons why files do not assemble: greedily, so that most files soon do."""
    done = sum(row["assemble"] for row in rows)
    waiting = [set(row["reasons"]) for row in rows if row.get("reasons")]
    lines = []
    while waiting and len(lines) < most:
        weight = collections.Counter()
        for reasons in waiting:
            for reason in reasons:
                weight[reason] += 1 / len(reasons) ** 2
        choice = max(sorted(weight), key=weight.get)
        left = [reasons - {choice} for reasons in waiting]
        waiting = [reasons for reasons in left if reasons]
        done += len(left) - len(waiting)
        lines.append(f"  {done:5} {100 * done // len(rows):3}%  {choice}")
    return lines


def summary(rows, options):
    """The text at the end of a run."""
    n = len(rows)
    lines = [f"{n} files, {sum(r['bytes'] for r in rows) / 1e6:.1f} MB"]
    for peer in ("ptxas", "nvdisasm"):
        if not getattr(options, peer):
            lines.append(f"skipped what needs {peer}: no such program on PATH or in $ORIAS_PEERS_DIR")
    if "front" in options.checks:
        lines.append(f"parse and check: {sum(r['front'] for r in rows)} of {n}")
        lines += ["  alone files  message"] * any("front_reasons" in r for r in rows)
        lines += ranked_reasons(rows, "front_reasons", options.reasons)
    if "assemble" in options.checks:
        lines.append(f"assemble: {sum(r['assemble'] for r in rows)} of {n}")
        lines += ["  alone files  message"] * any("reasons" in r for r in rows)
        lines += ranked_reasons(rows, "reasons", options.reasons)
        if options.plan:
            lines += ["files that assemble once these, in this order, are done:"] + plan(rows, options.plan)
    figures = (("registers", "registers"), ("instructions", "instructions"), ("seconds", "time"),
               ("cpu_seconds", "processor time"), ("kilobytes", "peak memory"))
    for figure, what in figures:
        lines.append(ratio_line(rows, figure, what))
    if any("fact_differences" in r for r in rows):
        lines.append(f"launch facts: {sum(len(r.get('fact_differences', [])) for r in rows)} differ from ptxas'")
        for row in rows:
            lines += [f"  {row['file']} {d}" for d in row.get("fact_differences", [])[: options.differences]]
    if any("words" in r for r in rows):
        refused = sum(len(r.get("refused_words", [])) for r in rows)
        different = sum(len(r.get("listing_differences", [])) for r in rows)
        lines.append(f"nvdisasm: {sum(r.get('words', 0) for r in rows)} words, {refused} refused, {different} printed differently by our listing")
        for row in rows:
            lines += [f"  {row['file']} refused {w}" for w in row.get("refused_words", [])[: options.differences]]
            lines += [f"  {row['file']} {d}" for d in row.get("listing_differences", [])[: options.differences]]
    return "\n".join(line for line in lines if line)


def write_tsv(path, rows):
    columns = ["file", "bytes", "sm", "front", "assemble", "registers", "ptxas_registers", "instructions", "ptxas_instructions",
               "spill_bytes", "seconds", "ptxas_seconds", "cpu_seconds", "ptxas_cpu_seconds", "kilobytes", "ptxas_kilobytes", "front_seconds", "front_kilobytes", "words"]
    with open(path, "w") as out:
        out.write("\t".join(columns + ["reasons"]) + "\n")
        for row in rows:
            cells = [row.get(c, "") for c in columns] + ["; ".join(row.get("reasons", row.get("front_reasons", {})))]
            out.write("\t".join(f"{c:.4f}" if isinstance(c, float) else str(c) for c in cells) + "\n")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, help="folders searched for *.ptx, or single files")
    parser.add_argument("--orias", default=tools.find("orias"))
    parser.add_argument("--self", help="a program to use in orias' place: ptxas")
    parser.add_argument("--checks", default=",".join(CHECKS), help="some of " + ",".join(CHECKS))
    parser.add_argument("--filter", default="", help="only files whose path matches this regular expression")
    parser.add_argument("--arch", help="the chip to assemble for, instead of sm_90 or what a .target like sm_90a says")
    parser.add_argument("--limit-files", type=int, default=0, help="only the first N files (they are sorted by size)")
    parser.add_argument("--max-bytes", type=int, default=0, help="only files up to this size")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one run of one program")
    parser.add_argument("--jobs", type=int, default=1, help="files at once; 1 for honest times")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which speed takes the best")
    parser.add_argument("--reasons", type=int, default=40, help="how many messages the summary ranks")
    parser.add_argument("--plan", type=int, default=0, help="print this many steps of the order in which to widen orias")
    parser.add_argument("--differences", type=int, default=5, help="how many differences of a file the summary shows")
    parser.add_argument("--require", default="", help="exit with 1 unless every file passes these: front, assemble")
    parser.add_argument("--ptxas-cubins", type=pathlib.Path, help="cubins of ptxas -O3, named like the files: quality runs ptxas for others")
    parser.add_argument("--flags", nargs="*", default=[], help="options for both programs, like --flags=-c")
    parser.add_argument("--tsv", help="write one line per file here")
    parser.add_argument("--json", help="write everything here, kernels too")
    options = parser.parse_args()
    options.checks = set(options.checks.split(","))
    if options.checks - set(CHECKS):
        parser.error("no such check: " + ", ".join(sorted(options.checks - set(CHECKS))))
    if options.checks & {"quality", "facts", "speed", "disassembly"}:
        options.checks.add("assemble")
    options.ptxas, options.nvdisasm = tools.find("ptxas"), tools.find("nvdisasm")
    if options.self:
        options.orias = tools.find(options.self)
    if not options.orias:
        parser.error("no orias: give --orias")
    return options


def collect(options):
    """(file, root) pairs, small files first."""
    found = []
    for folder in options.folders:
        root = folder if folder.is_dir() else folder.parent
        found += [(f, root) for f in (sorted(folder.rglob("*.ptx")) if folder.is_dir() else [folder])]
    found = [(f, root) for f, root in found if re.search(options.filter, str(f))]
    if options.max_bytes:
        found = [(f, root) for f, root in found if f.stat().st_size <= options.max_bytes]
    found.sort(key=lambda pair: (pair[0].stat().st_size, str(pair[0])))
    return found[: options.limit_files or None]


def main():
    options = parse_arguments()
    pairs = collect(options)
    if not pairs:
        sys.exit("no files")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        disassembly = Disassembly(scratch, options)
        rows = []
        for comparison in pool.map(lambda pair: Comparison(*pair, scratch, options).run(), pairs):
            rows.append(comparison.row)
            if "disassembly" in options.checks:
                disassembly.add(comparison)
        disassembly.finish()
    if options.tsv:
        write_tsv(options.tsv, rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    print(summary(rows, options))
    required = [check for check in options.require.split(",") if check]
    wrong = any(r.get("refused_words") or r.get("listing_differences") or r.get("fact_differences") for r in rows)
    return 1 if wrong or not all(row[check] for row in rows for check in required) else 0


if __name__ == "__main__":
    sys.exit(main())

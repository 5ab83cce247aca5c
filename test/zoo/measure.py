"""Measures PTX files, ours against ptxas', and keeps the results in one JSON: the part of run.py that runs programs.

The row of a file has the results of compare.py (accepted by whom, registers, instructions, spills, launch facts, time,
memory, nvdisasm's text) and those of real_kernels.py for its kernels (memory after runs, executed instructions,
estimated cycles, resident warps). A file with the same bytes, measured with the same programs, is not measured again.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import compare  # noqa: E402
import real_kernels  # noqa: E402
import tools  # noqa: E402

CHIPS = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a",
         *(f"sm_{number}{suffix}" for number in (100, 103, 110, 120, 121) for suffix in ("", "a", "f")))
DEFAULT_CHIP = "sm_90"  # for files whose .target is older than all of these
TARGET = re.compile(rb"^\s*\.target\s+(sm_(\d+)[af]?)", re.MULTILINE)
CHUNK = 24  # files between two writes of the results
RUNTIME = ("vprintf", "malloc", "free", "__assertfail")  # functions that the driver provides to whole programs


def digest(*paths):
    """A short hash of the contents of files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(pathlib.Path(path).read_bytes())
    return found.hexdigest()[:16]


def half_of(path):
    """The half of a file, by a hash of its name up to the first dot: all variants of a kernel are in one half."""
    stem = path.name.split(".")[0]
    return ("tuned on", "measured only")[hashlib.sha256(stem.encode()).digest()[0] & 1]


def chip_of(source):
    """The chip of a file's .target, or DEFAULT_CHIP for an older one; None for chips that orias does not know."""
    found = TARGET.search(source.read_bytes()[:65536])
    name = found[1].decode() if found else DEFAULT_CHIP
    return name if name in CHIPS else DEFAULT_CHIP if not found or int(found[2]) < int(CHIPS[0][3:]) else None


def flags_of(source):
    """-c for PTX that is not a whole program: files without an entry, or that call functions of other files."""
    text = source.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"//[^\n]*", "", text)
    calls = re.findall(r"\.extern\s+\.func\b(?:\s*\([^)]*\))?\s*([\w$]+)", text)
    return ["-c"] if ".entry" not in text or set(calls) - set(RUNTIME) else []


def suites_of(paths):
    """{suite: [(file, root)]}: a folder's subfolders are its suites, a folder of files is one; NAME=PATH gives another name."""
    found = {}
    for argument in paths:
        name, _, path = argument.rpartition("=")
        root = pathlib.Path(path)
        for file in sorted(root.rglob("*.ptx")) if root.is_dir() else [root]:
            inside = file.relative_to(root).parts if root.is_dir() else ()
            suite = name or (inside[0] if len(inside) > 1 else root.name if root.is_dir() else root.parent.name)
            found.setdefault(suite, []).append((file, root if root.is_dir() else root.parent))
    return found


class Results:
    """The JSON of results: {"rows": {"suite/file": row}}; each row has `content` and `programs`."""

    def __init__(self, path, programs):
        self.path, self.programs = path, programs
        self.rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}
        self.known = {row["content"]: row for row in self.rows.values() if row["programs"] == programs}

    def add(self, key, row):
        self.rows[key] = row
        self.known[row["content"]] = row

    def write(self):
        waiting = self.path.with_suffix(".new")
        waiting.write_text(json.dumps({"rows": self.rows}, indent=0, sort_keys=True), encoding="utf-8")
        waiting.replace(self.path)


class Measurer:
    def __init__(self, options):
        self.options = options
        self.orias = options.orias_run.removesuffix("-run")
        self.peers = {name: tools.find(name) for name in ("ptxas", "nvdisasm")}
        self.programs = digest(self.orias, options.orias_run, *filter(None, self.peers.values()), real_kernels.__file__, compare.__file__)
        self.runners = {}

    def comparison_options(self, chip, flags):
        found = argparse.Namespace(orias=self.orias, arch=chip, flags=flags, checks=set(compare.CHECKS) - {"front"}, repeat=1,
                                   limit=self.options.limit, jobs=self.options.jobs, ptxas_cubins=None, **self.peers)
        found.self = None  # ptxas replaces orias
        return found

    def runner(self, chip):
        if chip not in self.runners:
            self.runners[chip] = real_kernels.Runner(argparse.Namespace(orias_run=self.options.orias_run, arch=chip, stats=True,
                                                                        budget=self.options.budget, keep=self.options.keep))
        return self.runners[chip]

    def file(self, suite, source, root, scratch):
        """A Comparison with all results for a file except nvdisasm's."""
        chip, flags = chip_of(source), flags_of(source)
        comparison = compare.Comparison(source, root, scratch, self.comparison_options(chip, flags)).run()
        row = comparison.row
        row.update(suite=suite, half=half_of(source), content=digest(source), programs=self.programs, flags=flags, results=[])
        if row["assemble"] and row.get("ptxas_accepts") and not flags and not self.options.no_runs:
            try:
                row["results"] = [result._asdict() for result in self.runner(chip).file(source)]
            except ValueError as error:  # a parameter list that real_kernels.py does not understand
                row["results"] = [real_kernels.Result("", "not understood", str(error)[:200])._asdict()]
        return comparison

    def chunk(self, files, results):
        """Measures some files of a suite, and disassembles them together."""
        with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            disassembly = compare.Disassembly(scratch, self.comparison_options(None, []))
            done = list(pool.map(lambda file: self.file(*file, scratch), files))
            for comparison in done:
                disassembly.add(comparison)
            disassembly.finish()
        for comparison in done:
            results.add(f"{comparison.row['suite']}/{comparison.name}", comparison.row)

    def measure(self, suites, results):
        """Measures what is not known yet; returns {suite: [row]}, and the number of files for other chips."""
        rows, others = {}, 0
        for suite, files in suites.items():
            waiting, keys = [], []
            for source, root in files:
                if chip_of(source) is None:
                    others += 1
                    continue
                keys.append(f"{suite}/{source.relative_to(root)}")
                if known := results.known.get(digest(source)):
                    results.add(keys[-1], dict(known, suite=suite, file=str(source.relative_to(root)), half=half_of(source)))
                else:
                    waiting.append((suite, source, root))
            for at in range(0, len(waiting), CHUNK):
                self.chunk(waiting[at : at + CHUNK], results)
                results.write()
                print(f"{suite}: {min(at + CHUNK, len(waiting))} of {len(waiting)} measured", file=sys.stderr, flush=True)
            rows[suite] = [results.rows[key] for key in keys]
        results.write()
        return rows, others

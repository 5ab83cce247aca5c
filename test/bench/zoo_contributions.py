#!/usr/bin/env python3
"""What each optional phase changes on real PTX: in how many files the code differs without it, and by how much.

    zoo_contributions.py --orias-run build/release/bin/orias-run [--count N] [--least-bytes N] [--most-bytes N] [--results FILE.json]
                         [--markdown docs/phases.md] FOLDER...

Takes N files of the folders, spread evenly, and for each kernel made-up arguments with which ours ends in order (as
test/peers/real_kernels.py makes them). For each phase: the number of files whose cubin differs without it, and the ratio
"without / with" of the instructions in the code (over the files that differ), of the instructions executed and of the
estimated cycles (over their kernels that run): above 1 is what the phase saves. --results keeps what is measured, so that an
interrupted run goes on. --markdown replaces the table between the two marks of the page.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import dynamic
import marked_page

sys.path.insert(0, str(dynamic.HERE.parent / "peers"))
import real_kernels  # noqa: E402

LEVEL = "-O3"
TOGETHER = {"all GeneralOptimize": ("13", "29", "37", "46", "58", "65"), "both schedulers": ("97", "110"),
            "rematerialization": ("54", "69", "69b", "69c", "69d"), "dead code": ("10", "16", "33", "61", "84")}
SECONDS = 60


def chip_of(text):
    for line in text.splitlines():
        if line.startswith(".target"):
            return line.split()[1].rstrip(",")
    return "sm_90"


class Zoo:
    def __init__(self, options, scratch):
        self.run_program = options.orias_run
        self.orias = str(pathlib.Path(options.orias_run).with_name("orias"))
        self.budget, self.scratch = options.budget, pathlib.Path(scratch)

    def cubin(self, file, disabled):
        """The cubin and the number of its instructions; None if it is not assembled."""
        made, listing = self.scratch / "a.cubin", self.scratch / "a.txt"
        words = [word for phase in disabled for word in ("--disable-phase", phase)]
        command = [self.orias, f"-arch={chip_of(file.read_text(errors='replace'))}", LEVEL, *words, str(file), "-o", str(made),
                   f"--listing={listing}", "--listing-format=plain"]
        try:
            if subprocess.run(command, capture_output=True, check=False, timeout=SECONDS).returncode != 0:
                return None
        except subprocess.TimeoutExpired:
            return None
        count = sum(line.lstrip().startswith("/*") and "NOP" not in line for line in listing.read_text().splitlines())
        return made.read_bytes(), float(count)

    def figures(self, launch, cubin):
        path = self.scratch / "run.cubin"
        path.write_bytes(cubin)
        command = [self.run_program, str(launch), str(path), "--json", "--stats", "--budget", str(self.budget)]
        try:
            report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS).stdout)
        except (subprocess.TimeoutExpired, json.JSONDecodeError):
            return None
        if not report["completed"]:
            return None
        return {name: float(report["stats"][key]) for name, key in dynamic.FIGURES.items()}

    def launches(self, file, cubin):
        """A launch of each kernel with which it ends in order within the budget, and its figures."""
        found = []
        for number, kernel in enumerate(real_kernels.kernels_of(file.read_text(errors="replace"))):
            if number == 2:
                break
            for attempt in real_kernels.ATTEMPTS[:4]:
                launch = self.scratch / f"{len(found)}.{hashlib.sha1(str(file).encode()).hexdigest()}.json"
                launch.write_text(json.dumps({**kernel.launch(*attempt), "file": str(file)}))
                figures = self.figures(launch, cubin)
                if figures:
                    found.append((launch, figures))
                    break
        return found


def choose(folders, count, sizes):
    files = sorted(f for folder in folders for f in pathlib.Path(folder).rglob("*.ptx") if f.stat().st_size in sizes)
    files.sort(key=lambda f: hashlib.sha1(f.name.encode()).hexdigest())
    return files[:count]


def row(found):
    """Cells of a line: files that differ, ratios."""
    cells = [str(sum(r["differs"] for r in found))]
    for name in ("static", "instructions", "cycles"):
        ratios = [x for r in found for x in r[name]]
        cells.append(f"{dynamic.mean(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "-")
    return cells


def measure(zoo, file, disabled, base, launches):
    made = zoo.cubin(file, disabled)
    result = {"differs": False, "static": [], "instructions": [], "cycles": []}
    if made is None or made[0] == base[0]:
        return result
    result["differs"] = True
    result["static"].append(made[1] / base[1])
    for launch, before in launches:
        after = zoo.figures(launch, made[0])
        for name in ("instructions", "cycles"):
            if after and after[name] > 0 and before[name] > 0:
                result[name].append(after[name] / before[name])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias-run", required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--least-bytes", type=int, default=0, help="smaller files are left out")
    parser.add_argument("--most-bytes", type=int, default=60_000, help="larger files are left out")
    parser.add_argument("--budget", type=int, default=3_000_000, help="thread instructions of a run")
    parser.add_argument("--phases", nargs="+", help="these phases instead of all optional ones")
    parser.add_argument("--results", type=pathlib.Path, help="read and extend what is measured")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table into this page")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    files = choose(options.folders, options.count, range(options.least_bytes, options.most_bytes + 1))
    known = json.loads(options.results.read_text()) if options.results and options.results.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        zoo = Zoo(options, scratch)
        lines = [((number,), name) for number, name in dynamic.optional_phases(zoo.orias) if not number.startswith("M")]
        lines += [(numbers, name) for name, numbers in TOGETHER.items()]
        if options.phases:
            lines = [line for line in lines if set(line[0]) & set(options.phases)]
        for number, file in enumerate(files):
            mine = known.setdefault(file.name, {})
            missing = [numbers for numbers, _ in lines if ",".join(numbers) not in mine]
            if not missing:
                continue
            base = zoo.cubin(file, ())
            launches = zoo.launches(file, base[0]) if base else []
            for numbers in missing:
                if base:
                    mine[",".join(numbers)] = measure(zoo, file, numbers, base, launches)
            print(f"{number + 1} of {len(files)}: {file.name}, {len(launches)} kernels run", flush=True)
            if options.results:
                options.results.write_text(json.dumps(known))
    measured = [known[file.name] for file in files if known[file.name]]
    rows = ["| phase | files that differ | instructions in the code | instructions executed | estimated cycles |", "|---|---:|---:|---:|---:|"]
    for numbers, name in lines:
        found = [one[",".join(numbers)] for one in measured if ",".join(numbers) in one]
        rows.append(f"| {', '.join(numbers)} {name} | {' | '.join(row(found))} |")
    table = f"{len(measured)} files of {', '.join(sorted({f.parent.name for f in files}))}.\n\n" + "\n".join(rows) + "\n"
    print(table)
    if options.markdown:
        marked_page.replace(options.markdown, "zoo", "\n" + table)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Mutated PTX files: orias and ptxas must accept and refuse the same of them, but for differences that differences.txt explains.

    run.py --orias build/release/bin/orias --count 2000 test/corpus/ptx test/corpus/handwritten
    run.py ... --keep DIR          keeps one file of each group of differences, and each file that crashes
    run.py ... --show 4711         prints the mutated file of this index, and what both programs say of it

Each file is assembled by both at -O0 (even index) or -O3 (odd). Fails if orias ends with a status other than 0 or 1, runs out of time or
memory, or if there is a difference that no line of differences.txt explains. Without ptxas only the crashes are looked for.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import mutate

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import tools  # noqa: E402



def target_of(text):
    match = re.search(r"^\s*\.target\s+(sm_90a)\b", text, re.MULTILINE)
    return match.group(1) if match else "sm_90"


def run(command, seconds, megabytes):
    """Status (None: out of time) and messages."""
    limit = (megabytes << 20, megabytes << 20)
    # Before the program starts: address space that it has reserved by then would count, too.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "out of time"
    return process.returncode, errors.decode(errors="replace")


def first_message(errors):
    """The first error of either program, without file and place."""
    for line in errors.splitlines():
        if match := re.match(r"^ptxas .*?(?:error|fatal)\s*:\s*(.*)$", line):
            return match.group(1)
        if match := re.match(r"^.*?:\d+:\d+: (?:fatal )?error: (.*)$", line):
            return match.group(1)
    return errors.strip().split("\n")[0]


def group_of(message):
    """Messages that differ only in names and numbers are of one group."""
    message = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", message)
    return re.sub(r"[%$]\w+|\b0[xX][0-9a-f]+\b|-?\b\d+\b", "#", message)[:160]


def explanations():
    """(who accepts, pattern of the other's message) of each line of differences.txt."""
    found = []
    for line in (HERE / "differences.txt").read_text().splitlines():
        if line.strip() and not line.startswith(("#", " ")):
            who, pattern = line.split(None, 1)
            found.append((who, re.compile(pattern)))
    return found


class Case:
    def __init__(self, mutator, index, arguments, folder):
        self.index = index
        self.seed, self.changes, self.text = mutator.make(index)
        self.path = pathlib.Path(folder) / f"{index}.ptx"
        self.path.write_text(self.text)
        options = [f"-arch={target_of(self.text)}", "-O3" if index % 2 else "-O0", str(self.path), "-o", str(self.path) + ".o"]
        self.status, self.errors = run([arguments.orias, *options], arguments.seconds, arguments.megabytes)
        self.peer_status, self.peer_errors = (run([arguments.ptxas, *options], 120, 8192) if arguments.ptxas else (None, ""))
        for path in (self.path, pathlib.Path(str(self.path) + ".o")):
            path.unlink(missing_ok=True)

    @property
    def crash(self):
        return self.status not in (0, 1)

    @property
    def differs(self):
        """ptxas' own crashes say nothing."""
        return self.peer_status is not None and self.peer_status >= 0 and (self.status == 0) != (self.peer_status == 0)

    @property
    def group(self):
        if self.crash:
            return ("crash", f"status {self.status}: {group_of(first_message(self.errors))}")
        if self.status == 0:
            return ("ours", group_of(first_message(self.peer_errors)))
        return ("ptxas", group_of(first_message(self.errors)))

    def message(self):
        return first_message(self.peer_errors if self.status == 0 else self.errors)


def read_seeds(folders, most_bytes):
    seeds = []
    for folder in folders:
        for path in sorted([folder] if folder.is_file() else folder.rglob("*.ptx")):
            if path.stat().st_size <= most_bytes:
                seeds.append((path.name, path.read_text(errors="replace")))
    return seeds


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--orias", required=True)
    parser.add_argument("--ptxas", default=tools.find("ptxas"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other files")
    parser.add_argument("--bytes", type=int, default=6000, help="larger programs are left out")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--show", type=int)
    return parser.parse_args()


def show(case):
    print(case.text)
    for name, status, errors in (("orias", case.status, case.errors), ("ptxas", case.peer_status, case.peer_errors)):
        print(f"{name}: {status} {errors}")
    print(f"{case.seed}: {'; '.join(case.changes)}")


def main():
    arguments = parse()
    seeds = read_seeds(arguments.folders, arguments.bytes)
    mutator = mutate.Mutator(seeds, arguments.seed)
    known = explanations()
    counts, groups, explained = collections.Counter(), collections.defaultdict(list), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.show is not None:
            return show(Case(mutator, arguments.show, arguments, folder))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            todo = range(arguments.first, arguments.first + arguments.count)
            for case in pool.map(lambda index: Case(mutator, index, arguments, folder), todo):
                counts["accepted" if case.status == 0 else "refused" if case.status == 1 else "crashed"] += 1
                if not case.crash and not case.differs:
                    continue
                match = next((entry for entry in known if not case.crash and entry[0] == case.group[0] and entry[1].search(case.message())), None)
                if match:
                    explained[f"{match[0]} {match[1].pattern}"] += 1
                else:
                    groups[case.group].append(case)
    report(arguments, len(seeds), counts, groups, explained)
    return 1 if groups else 0


def report(arguments, seeds, counts, groups, explained):
    print(f"{arguments.count} files of {seeds} programs: " + ", ".join(f"{number} {what}" for what, number in sorted(counts.items())) +
          ("" if arguments.ptxas else "; skipped the comparison: no ptxas"))
    print(f"{sum(explained.values())} differences that differences.txt explains")
    for entry, number in explained.most_common():
        print(f"  {number:5} {entry}")
    for (who, message), cases in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(cases):5} {'crash' if who == 'crash' else 'accepted by ' + who + ' alone'}: {message}")
        for case in cases[:3]:
            print(f"        --show {case.index} ({case.seed}): {'; '.join(case.changes)[:200]}")
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            for case in cases if who == "crash" else cases[:2]:
                (arguments.keep / f"{case.index}.ptx").write_text(case.text)


if __name__ == "__main__":
    sys.exit(main())

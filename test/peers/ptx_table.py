#!/usr/bin/env python3
"""Asks ptxas what it thinks of the PTX instruction table.

  ptx_table.py cases                       the list of accepted and refused statements: ptxas must agree on every line
  ptx_table.py examples BUILD/ptx_examples every form of the table, made up by that program: ptxas must accept them all
  ptx_table.py since BUILD/ptx_examples    the lowest .version and .target of every form: ptxas must accept it there, and should
                                           refuse it one version or target lower (printed as a remark)

Prints that it was skipped where there is no ptxas. Exit status 1: ptxas disagrees.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import tools

UNIT = pathlib.Path(__file__).resolve().parents[1] / "unit" / "frontend"
PREAMBLE = (UNIT / "instr_preamble.ptx").read_text()
ENDING = "\nL1: ret;\n}\n"
LOWEST_CHIP = 75  # what ptxas 13 can still compile for; lower targets are for checks only
VERSIONS = ["4.2", "4.3", "5.0", "6.0", "6.1", "6.2", "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6",
            "7.7", "7.8", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0"]
TARGETS = ["sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"]
# The `.version` from which a target can be named.
TARGET_VERSION = {"sm_50": "4.2", "sm_52": "4.2", "sm_53": "4.2", "sm_60": "5.0", "sm_61": "5.0", "sm_70": "6.0", "sm_72": "6.1", "sm_75": "6.3",
                  "sm_80": "7.0", "sm_86": "7.1", "sm_89": "7.8", "sm_90": "7.8", "sm_90a": "8.0", "sm_100": "8.6",
                  "sm_100a": "8.6", "sm_101a": "8.6", "sm_103a": "8.8", "sm_120a": "8.7"}


def number(version):
    return tuple(int(part) for part in version.split("."))


def chip(target):
    return int(re.sub(r"\D", "", target))


def preamble(target, version):
    wide = number(version) >= (8, 3) and chip(target) >= 70
    text = PREAMBLE.replace("@TARGET@", target).replace("@VERSION@", version).replace("@WIDE@", "" if wide else "//")
    if number(version) < (6, 0):
        text = re.sub(r"TL:.*\n", "", text)
    return text


def refused(ptxas, statements, target, version):
    """Index -> messages of the statements that ptxas refuses. Many are compiled together; those refused are taken out until the
    rest passes, because later stages of ptxas run only then."""
    head = preamble(target, version)
    first_line = head.count("\n") + 1
    bad = {}
    todo = list(range(len(statements)))
    while todo:
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(head + "\n".join(statements[i] for i in todo) + ENDING)
            file.flush()
            arch = target if chip(target) >= LOWEST_CHIP else f"sm_{LOWEST_CHIP}"
            done = subprocess.run([ptxas, "-arch", arch, "-O0", "-o", "/dev/null", file.name], capture_output=True, text=True)
        if done.returncode == 0:
            return bad
        found = set()
        for line in (done.stdout + done.stderr).splitlines():
            match = re.match(r"ptxas \S+, line (\d+); (error|fatal)\s*: (.*)", line)
            at = int(match[1]) - first_line if match else -1
            if 0 <= at < len(todo):
                bad.setdefault(todo[at], []).append(match[3])
                found.add(todo[at])
        if not found:  # no line told: look for the culprit by halves
            if len(todo) == 1:
                bad[todo[0]] = [(done.stdout + done.stderr).strip()]
                return bad
            half = len(todo) // 2
            for part in (todo[:half], todo[half:]):
                for i, messages in refused(ptxas, [statements[i] for i in part], target, version).items():
                    bad[part[i]] = messages
            return bad
        todo = [i for i in todo if i not in found]
    return bad


def check_cases(ptxas):
    groups = collections.defaultdict(list)
    key = None
    for line in (UNIT / "instr_cases.txt").read_text().splitlines():
        if line.startswith("@"):
            key = tuple(line[1:].split())
        elif line.startswith(("+", "-")):
            groups[key].append((line[0], line[2:].split(" => ")[0]))
    wrong = 0
    total = 0
    for (target, version), lines in groups.items():
        # One by one: after a fatal error ptxas does not look at the rest.
        for sign, statement in lines:
            total += 1
            bad = refused(ptxas, [statement], target, version)
            if (sign == "+") == bool(bad):
                wrong += 1
                print(f"{target} {version}: {sign} {statement}: ptxas {'refuses: ' + str(bad[0]) if bad else 'accepts'}")
    print(f"{total} statements, {wrong} disagreements")
    return wrong


def examples(program):
    done = subprocess.run([program, UNIT / "instr_preamble.ptx"], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            print(line)
            continue
        needs, statement = line.split("\t")
        target, version = needs.split()
        yield target, version, statement


def check_groups(ptxas, groups):
    """groups: (target, version) -> statements. Yields what ptxas refuses."""
    for (target, version), statements in groups.items():
        for at in range(0, len(statements), 150):
            part = statements[at : at + 150]
            for i, messages in sorted(refused(ptxas, part, target, version).items()):
                yield target, version, part[i], " | ".join(dict.fromkeys(messages))


def check_examples(ptxas, program):
    groups = collections.defaultdict(list)
    for target, _, statement in examples(program):
        if target[-1] not in "af":
            target = "sm_90a" if chip(target) <= 90 else "sm_100a"
        groups[target, "9.0"].append(statement)
    wrong = 0
    for target, _, statement, messages in check_groups(ptxas, groups):
        wrong += 1
        print(f"{target}: {statement}: {messages[:200]}")
    print(f"{sum(map(len, groups.values()))} examples, {wrong} refused by ptxas")
    return wrong


def at_least(target, version):
    """The lowest target and version of ours that are not below these and go together."""
    if chip(target) < 50:
        target = "sm_50"
    if version == "0.0":
        version = VERSIONS[0]
    return target, max(version, TARGET_VERSION[target], key=number)


def check_since(ptxas, program):
    here = collections.defaultdict(list)
    lower = collections.defaultdict(list)
    for target, version, statement in examples(program):
        target, version = at_least(target, version)
        here[target, version].append(statement)
        if version != VERSIONS[0] and version != TARGET_VERSION[target]:
            before = max(v for v in VERSIONS if number(v) < number(version))
            lower[target, before].append(statement)
        if target in TARGETS[1:]:
            below = TARGETS[TARGETS.index(target) - 1]
            lower[below, version].append(statement)
    wrong = 0
    for target, version, statement, messages in check_groups(ptxas, here):
        wrong += 1
        print(f"too low: {target} {version}: {statement}: {messages[:200]}")
    for (target, version), statements in lower.items():
        for at in range(0, len(statements), 150):
            part = statements[at : at + 150]
            bad = refused(ptxas, part, target, version)
            for i, statement in enumerate(part):
                if i not in bad:
                    print(f"remark: ptxas takes it at {target} {version} already: {statement}")
    print(f"{sum(map(len, here.values()))} examples, {wrong} refused at the lowest version and target of the table")
    return wrong


def main():
    ptxas = tools.find("ptxas")
    if not ptxas:
        print("skipped: no ptxas")
        return 0
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "cases":
        return 1 if check_cases(ptxas) else 0
    if command == "examples" and len(sys.argv) == 3:
        return 1 if check_examples(ptxas, sys.argv[2]) else 0
    if command == "since" and len(sys.argv) == 3:
        return 1 if check_since(ptxas, sys.argv[2]) else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())

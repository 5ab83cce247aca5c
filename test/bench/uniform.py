#!/usr/bin/env python3
"""Counts the uniform datapath's part of the code of PTX files: ours, ours without some phase, and ptxas'.

    uniform.py --orias orias --dis orias-dis --ptxas-cubins DIR [--options="--disable-phase=74"]... FOLDER

For each setting one line: files, instructions (padding left out), the share on the uniform datapath (with the cross-file copies
S2UR, R2UR, VOTEU, REDUX), and the sums over all functions of the R, UR, P and UP registers: the first three as the
listings' headers name them, UP up to the highest that is written or read.
DIR holds what ptxas made of the same files, under the same names. --phases leaves out each of these phases in turn, and
--markdown writes the table that docs/uniform.md is. --opcodes adds a table by uniform opcode: how many
of every 10,000 instructions are that, in ptxas' code and in ours, most missing first. --files tells which files lack
most of the share.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

INSTRUCTION = re.compile(r"^[0-9a-f]{4,}\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
HEADER = re.compile(r"^// \d+ instructions, (\d+) registers(?: \((.*?)\))?")
UNIFORM_PREDICATE = re.compile(r"\bUP(\d)\b")
# Those of the document on uniform registers, and what they read or feed.
PHASES = ("11", "27", "28", "37b", "44", "53", "56", "63", "70", "74", "86")
CROSS_FILE_COPIES = {"S2UR", "R2UR", "VOTEU", "REDUX"}


def is_uniform(opcode):
    return opcode.startswith("U") or opcode in CROSS_FILE_COPIES


def count(dis, cubin):
    """Opcodes, and the registers of all functions by kind; None for a cubin that cannot be read."""
    done = subprocess.run([dis, cubin], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    opcodes, registers = collections.Counter(), collections.Counter()
    highest = 0
    for line in done.stdout.splitlines():
        if found := INSTRUCTION.match(line):
            opcodes[found.group(1)] += 1
            highest = max([highest, *(int(number) + 1 for number in UNIFORM_PREDICATE.findall(line))])
        elif found := HEADER.match(line):
            registers["UP"] += highest
            highest = 0
            registers["R"] += int(found.group(1))
            for number, kind in re.findall(r"(\d+) (uniform|predicate)", found.group(2) or ""):
                registers["UR" if kind == "uniform" else "P"] += int(number)
    registers["UP"] += highest
    del opcodes["NOP"]
    return opcodes, registers


def assembled(arguments, options, source):
    text = source.read_text(encoding="utf-8", errors="replace")[:4000]
    arch = "sm_90a" if re.search(r"\.target\s+sm_90a", text) else "sm_90"
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "a.cubin")
        command = [arguments.orias, f"-arch={arch}", *options.split(), "-o", cubin, str(source)]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            return None
        return count(arguments.dis, cubin)


def uniform_part(opcodes):
    return sum(n for opcode, n in opcodes.items() if is_uniform(opcode))


def summed(counts):
    opcodes, registers = collections.Counter(), collections.Counter()
    for each in counts:
        opcodes += each[0]
        registers += each[1]
    return opcodes, registers


def tell(title, counts):
    opcodes, registers = summed(counts)
    total, uniform = sum(opcodes.values()), uniform_part(opcodes)
    print(f"{title:40} {len(counts):4} files {total:8} instructions  uniform {uniform:6} = {100 * uniform / total:5.2f}%"
          f"   R {registers['R']:6}  UR {registers['UR']:6}  P {registers['P']:5}  UP {registers['UP']:4}", flush=True)


def without_worst(names, peers, ours):
    """A sentence on the file that lacks most, and the shares of all others."""
    worst = min(range(len(names)), key=lambda i: uniform_part(ours[i][0]) - uniform_part(peers[i][0]))
    shares = []
    for counts in (peers, ours):
        opcodes = summed(one for i, one in enumerate(counts) if i != worst)[0]
        shares.append(100 * uniform_part(opcodes) / sum(opcodes.values()))
    return (f"\nThe largest deficit is in `{names[worst]}`: {uniform_part(ours[worst][0])} uniform instructions where ptxas has"
            f" {uniform_part(peers[worst][0])}. Without this file\nthe share is {shares[1]:.2f}%, that of ptxas"
            f" {shares[0]:.2f}%.\n")


def markdown(arguments, rows, names):
    """The table: who, and what of it; shares against ptxas' own."""
    files = len(rows[0][1])
    text = (
        "# Uniform registers, phase by phase\n\nThe share of the uniform datapath in the code of "
        f"{files} PTX files of real projects at -O3, compiled by ptxas, by orias, and by orias without\none phase: the number of instructions, "
        "the share of uniform instructions (including cross-file copies),\nthis share relative to ptxas "
        "(of all files together; \"by file\": of the mean share per file, which weighs large and small\n"
        "files equally), and the registers of all functions together. Written by\n"
        f"`test/bench/uniform.py --ptxas-cubins DIR --phases --markdown docs/uniform.md --limit-files {arguments.limit_files}"
        " FOLDER`.\n\n| | instructions | uniform | of ptxas' share | by file | R | UR | UP | P |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
    )
    share, by_file = {}, {}
    for title, counts in rows:
        opcodes, registers = summed(counts)
        total = sum(opcodes.values())
        share[title] = uniform_part(opcodes) / total
        by_file[title] = sum(uniform_part(one[0]) / sum(one[0].values()) for one in counts) / files
        text += (f"| {title} | {total} | {100 * share[title]:.2f}% | {100 * share[title] / share['ptxas']:.0f}%"
                 f" | {100 * by_file[title] / by_file['ptxas']:.0f}% | {registers['R']} | {registers['UR']} | {registers['UP']} | {registers['P']} |\n")
    text += without_worst(names, rows[0][1], rows[1][1])
    arguments.markdown.write_text(text, encoding="utf-8")


def tell_opcodes(peers, ours):
    """Per 10,000 instructions of each, and what ours lack or have more."""
    theirs, mine = summed(peers)[0], summed(ours)[0]
    scale = [10000 / max(1, sum(each.values())) for each in (theirs, mine)]
    names = {name for name in [*theirs, *mine] if is_uniform(name)}
    rows = sorted((mine[n] * scale[1] - theirs[n] * scale[0], n) for n in names)
    print(f"    {'':10} {'ptxas':>7} {'ours':>7} {'of 10,000':>9} {'':>7} {'more':>7}")
    for more, name in rows:
        print(f"    {name:10} {theirs[name]:7} {mine[name]:7} {theirs[name] * scale[0]:9.2f} {mine[name] * scale[1]:7.2f}"
              f" {more:+7.2f}")


def tell_files(sources, peers, ours, most):
    lacking = sorted((uniform_part(mine[0]) - uniform_part(peer[0]), source, sum(peer[0].values()), peer, mine)
                     for source, peer, mine in zip(sources, peers, ours))
    for lack, source, total, peer, mine in lacking[:most]:
        print(f"    {source.name:60} {total:6} instructions  ptxas {uniform_part(peer[0]):5}  ours"
              f" {uniform_part(mine[0]):5} ({lack:+})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orias", default="orias")
    parser.add_argument("--dis", default="orias-dis")
    parser.add_argument("--ptxas-cubins", required=True, type=pathlib.Path)
    parser.add_argument("--options", action="append", default=[], help="a setting besides the default one")
    parser.add_argument("--max-bytes", type=int, default=100000)
    parser.add_argument("--limit-files", type=int, default=100, help="this many, evenly over the files by name")
    parser.add_argument("--phases", nargs="*", help="leave out these in turn; without any, those of uniform registers")
    parser.add_argument("--markdown", type=pathlib.Path, help="write a table there")
    parser.add_argument("--opcodes", action="store_true", help="a table by opcode")
    parser.add_argument("--files", type=int, default=0, metavar="N", help="name the N files that lack most")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()

    sources = [s for s in sorted(arguments.folder.rglob("*.ptx")) if s.stat().st_size <= arguments.max_bytes]
    sources = sources[:: max(1, len(sources) // arguments.limit_files)][: arguments.limit_files]
    cubins = {s: arguments.ptxas_cubins / s.relative_to(arguments.folder).with_suffix(".cubin") for s in sources}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        phases = PHASES if arguments.phases == [] else arguments.phases or []
        settings = ["", *arguments.options, *(f"--disable-phase={phase}" for phase in phases)]
        ours = [list(pool.map(lambda s, o=o: assembled(arguments, o, s), sources)) for o in settings]
        peers = list(pool.map(lambda s: count(arguments.dis, cubins[s]) if cubins[s].exists() else None, sources))
    complete = [i for i in range(len(sources)) if peers[i] and all(each[i] for each in ours)]
    theirs = [peers[i] for i in complete]
    tell("ptxas", theirs)
    rows = [("ptxas", theirs)]
    for options, each in zip(settings, ours):
        mine = [each[i] for i in complete]
        rows.append((f"orias {options.replace('--disable-phase=', 'without ')}".strip(), mine))
        tell(f"orias {options}", mine)
        if arguments.opcodes:
            tell_opcodes(theirs, mine)
        if arguments.files:
            tell_files([sources[i] for i in complete], theirs, mine, arguments.files)
    if arguments.markdown:
        markdown(arguments, rows, [sources[i].name for i in complete])


if __name__ == "__main__":
    main()

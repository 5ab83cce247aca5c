#!/usr/bin/env python3
"""reference.py BIN [--write]: docs/reference has what the programs print of their options, phases and knobs, and what the
tables of instructions, remarks and attributes have; --write makes it so."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/reference"
MADE = "*Made by `test/docs/reference.py --write` from `{}`.*\n"


def output(binaries: Path, option: str) -> str:
    return subprocess.run([str(binaries / "orias"), option], capture_output=True, text=True, check=True).stdout


def cell(text: str) -> str:
    return text.strip().replace("|", "\\|").replace("<", "&lt;")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(cell, line)) + " |\n" for line in lines)


def phases(text: str) -> str:
    page, rows = "# Phases\n\n" + MADE.format("orias --list-phases") + "\n", []
    page += "Levels are those of `-O` at which a phase runs. `--disable-phase` disables a phase.\n"
    for line in [*text.splitlines(), "end"]:
        found = re.match(r"\s+(M?\d+[a-z]?) (\S+)\s+(\S+)\s+(optional|needed)\s+(.*)", line)
        if found:
            rows.append([found[1], f"`{found[2]}`", found[3], "yes" if found[4] == "optional" else "no", found[5]])
            continue
        if rows:
            page += "\n" + table(["number", "phase", "levels", "can be disabled", "reason for its position"], rows)
            rows = []
        if line != "end":
            page += f"\n## {line[0].upper()}{line[1:]}\n"
    return page


def knobs(text: str) -> str:
    rows = []
    for line in text.splitlines()[1:]:
        found = re.match(r"(\S+)\s+(\d+|-) (\S+)\s+(\S+)\s+(\S+)\s+((?:\S+, )*\S+)\s+(.*)", line)
        if not found:
            raise SystemExit(f"this line of --list-knobs has another form: {line}")
        rows.append([f"`{found[1]}`", *found.groups()[1:]])
    page = "# Knobs\n\n" + MADE.format("orias --list-knobs") + "\n"
    page += "`--knob=NAME=VALUE` sets a knob, `--knobs-file=FILE` those of a file. Numbers are those of ptxas, where one is known.\n\n"
    return page + table(["knob", "number", "type", "default", "range", "phase", "what it does"], rows)


def options(text: str) -> str:
    return "# Options\n\n" + MADE.format("orias --help") + "\n" + "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())


# The pages below are read from the tables of the sources.
FROM_SOURCE = "*Made by `test/docs/reference.py --write` from `{}`.*\n\n"
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def instructions() -> str:
    """The SASS instructions, as the tables of encoder/isa/rows have them."""
    page = "# SASS instructions\n\n" + FROM_SOURCE.format("encoder/isa/rows") + (
        "Each entry of the instruction table, with the name that Ori text and the listing print. `encoder/isa/README.md` explains entries; their\n"
        "operands, modifiers and bits are in the files. Entries of one name differ in operands or in the meaning of the opcode.\n")
    for file in sorted((ROOT / "encoder/isa/rows").glob("*.inc")):
        found = re.findall(r'(?m)^ORIAS_INSTR\((\w+), "([^"]+)"', file.read_text())
        if found:
            page += f"\n## {file.stem.replace('_', ' ').capitalize()}\n\n" + table(["instruction", "entry"], [[f"`{name}`", entry] for entry, name in found])
    return page


def remarks() -> str:
    """The texts of `--remarks`, by phase: what the calls of applied() and missed() in its files pass."""
    page = "# Remarks\n\n" + FROM_SOURCE.format("phases") + (
        "`--remarks=FILE` writes the decisions of the phases. `…` stands for names and numbers. Texts that several phases share are not listed.\n")
    for file in sorted((ROOT / "phases").glob("[pm][0-9]*.cpp")):
        code = re.sub(r"(?m)//.*$", "", file.read_text())
        rows: list[list[str]] = []
        for call in re.finditer(r"\b(applied|missed|reportMissed|reject)\(([^;]*)\);", code):
            text = re.sub(r'"\s*"', "", call[2])
            for literal in LITERAL.findall(text):
                shown = re.sub(r"\{[^}]*\}", "…", literal).replace('\\"', '"')
                row = ["passed" if call[1] == "applied" else "missed", shown]
                if " " in shown.strip() and row not in rows:
                    rows.append(row)
        number = re.match(r"[pm]0*(\d+[a-z]?)_(.*)", file.stem)
        if rows and number:
            name = ("M" if file.stem[0] == "m" else "") + number[1]
            page += f"\n## Phase {name}, `{file.name}`\n\n" + table(["", "remark"], sorted(rows, key=lambda row: row[0] == "missed"))
    return page


def attributes() -> str:
    """The attributes of cubins that orias knows, and those that it writes."""
    names = re.findall(r'Name\{(0x[0-9a-f]+), "(\w+)"\}', (ROOT / "encoder/cubin/attributes.cpp").read_text())
    enumerators = dict(re.findall(r"(\w+) = (0x[0-9a-f]+),", (ROOT / "encoder/cubin/attributes.h").read_text()))
    writers = "".join((ROOT / file).read_text() for file in ("encoder/cubin/nv_info.cpp", "orias/cubin_module.cpp"))
    written = {enumerators[name] for name in re.findall(r"Attribute\((?:cubin::)?AttributeId::(\w+)", writers)}
    written |= {enumerators[name] for name in re.findall(r"append\w*\(list, AttributeId::(\w+)", writers)}
    page = "# Attributes of cubins\n\n" + FROM_SOURCE.format("encoder/cubin/attributes.cpp") + (
        "Records of `.nv.info` and `.nv.info.<kernel>`, by number, with the names that cuobjdump 13.0 prints. `encoder/cubin/README.md` has what is\n"
        "known of their contents.\n\n")
    return page + table(["number", "attribute", "written by orias"], [[f"`{number}`", f"`{name}`", "yes" if number in written else ""] for number, name in names])


FROM_SOURCES = {"instructions.md": instructions, "remarks.md": remarks, "attributes.md": attributes}
PAGES = {
    "phases.md": ("--list-phases", phases),
    "knobs.md": ("--list-knobs", knobs),
    "options.md": ("--help", options),
}


def main() -> int:
    binaries = Path(sys.argv[1]).resolve()
    old = []
    contents = {name: make(output(binaries, option)) for name, (option, make) in PAGES.items()}
    contents |= {name: make() for name, make in FROM_SOURCES.items()}
    for name, wanted in contents.items():
        page = FOLDER / name
        if "--write" in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            page.write_text(wanted)
        elif not page.exists() or page.read_text() != wanted:
            old.append(name)
    for name in old:
        print(f"docs/reference/{name} is not what the programs say; test/docs/reference.py BIN --write makes it so")
    return len(old) != 0


if __name__ == "__main__":
    sys.exit(main())

"""reference.py BIN [--write]: docs/reference says what the programs say of their options, phases and knobs; --write makes it so."""

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


PAGES = {
    "phases.md": ("--list-phases", phases),
    "knobs.md": ("--list-knobs", knobs),
    "options.md": ("--help", options),
}


def main() -> int:
    binaries = Path(sys.argv[1]).resolve()
    old = []
    for name, (option, make) in PAGES.items():
        wanted = make(output(binaries, option))
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

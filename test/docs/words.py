#!/usr/bin/env python3
"""words.py: documents, messages and the comments of lit tests use the terms of docs/glossary.md; a short list of phrases that
they avoid."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What is avoided, and what to write instead.
AVOIDED = {
    r"\bbehind\b": "after, below, dominated by",
    r"\bin front of\b": "before, in the preheader",
    r"\b(nobody|somebody|whoever|whom)\b": "no use, unused; a use; the caller",
    r"\b(is|are) wanted\b|\bwants\b": "expected, required",
    r"\bunder way\b": "in flight, outstanding",
    r"\b(made|computed) again\b": "recomputed, rematerialized",
    r"\bways? (in|out|back)\b(?! (which|turn|this|the same))": "entry, exit edge, back edge",
    r"\b(number of|many|few|more) rounds\b": "iterations, trip count",
    r"\bbut for\b|\bas yet\b|\bfor good\b": "except; still; permanently",
    r"\bwhatever the\b": "for any, independent of",
    r"\bregisters (last|are short|run short)\b": "register pressure",
    r"\b(bridges?|refuge|safe twin|ceiling)\b": "cross-file copy; uniform promotion; conservative mode; register limit",
    r"\b(look|looks) alike\b|\bneighbours?\b": "are equal; adjacent",
    r"\ba fault of\b": "internal error",
    r"\b[a-z]+(tialis|malis|timis|ialis)(e|es|ed|er|ers|ing|ation)\b": "American spelling",
}

FOLDERS_OF_MESSAGES = ("encoder", "frontend", "ori", "orias", "phases", "regalloc", "tools")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')


def avoided(text: str) -> list[tuple[str, str]]:
    return [(found[0], instead) for phrase, instead in AVOIDED.items() for found in re.finditer(phrase, text)]


def documents() -> list[tuple[str, str]]:
    """Each line of the documents, without code."""
    lines = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if not line.startswith("    "):
                lines.append((f"{page.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`", "", line)))
    return lines


def messages() -> list[tuple[str, str]]:
    """Each text of several words in the sources: options, errors, remarks, reasons of phases, knobs."""
    texts = []
    for folder in FOLDERS_OF_MESSAGES:
        for source in sorted((ROOT / folder).rglob("*")):
            if source.suffix not in (".cpp", ".def"):
                continue
            code = re.sub(r"(?m)//.*$", "", source.read_text())
            for found in LITERAL.finditer(code):
                text = re.sub(r'"\s*"', "", found[0])
                if text.count(" ") >= 2:
                    texts.append((f"{source.relative_to(ROOT)}:{code.count(chr(10), 0, found.start()) + 1}", text))
    return texts


def comments() -> list[tuple[str, str]]:
    """Each comment of the lit tests, without the lines for lit and FileCheck."""
    directive = re.compile(r"^(//)?\s*[A-Z][A-Z0-9_-]*:|CHECK")
    lines = []
    for test in sorted((ROOT / "test").rglob("*")):
        if test.suffix not in (".ori", ".test"):
            continue
        for number, line in enumerate(test.read_text().splitlines(), 1):
            if (test.suffix == ".test" or line.startswith("//")) and not directive.search(line):
                lines.append((f"{test.relative_to(ROOT)}:{number}", line))
    return lines


def main() -> int:
    if not avoided("the block behind the loop") or avoided("the block after the loop"):
        print("the list does not find what it must, or finds what it must not")
        return 1
    texts = documents() + messages() + comments()
    found = [(where, phrase, instead) for where, text in texts for phrase, instead in avoided(text)]
    for where, phrase, instead in found:
        print(f"{where}: '{phrase}'; write: {instead}")
    print(f"{len(texts)} lines, messages and comments, {len(found)} phrases to replace")
    return len(found) != 0 or len(texts) < 1000


if __name__ == "__main__":
    sys.exit(main())

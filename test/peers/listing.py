"""Reads the plain listing that orias writes."""
import re

FUNCTION = re.compile(r"^(?:\.text\.|Function\s*:\s*)([\w$.]+)", re.MULTILINE)
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")


def parse(text):
    """{function: {address: instruction text}}"""
    functions, current = {}, None
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            current = functions.setdefault(match.group(1), {})
        elif (match := LINE.search(line)) and current is not None:
            current[int(match.group(1), 16)] = match.group(2)
    return functions

"""Reads the plain listing that orias writes: `name:`, then labels and `/*address*/ text ;`."""
import re

FUNCTION = re.compile(r"^([\w$][\w$.]*):$")
LABEL = re.compile(r"^(\.L\w*):$")
ROW = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;$")
REFERENCE = re.compile(r"`\((\.L\w*)\)|(\.L\w*)")


def parse(text):
    """{function: {address: instruction text}}, with labels as addresses, which is what nvdisasm prints of raw code."""
    functions = {}
    rows, labels, waiting = {}, {}, []
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            rows, labels, waiting = {}, {}, []
            functions[match.group(1)] = (rows, labels)
        elif match := LABEL.match(line):
            waiting.append(match.group(1))
        elif match := ROW.search(line):
            address = int(match.group(1), 16)
            rows[address] = match.group(2)
            labels.update((label, address) for label in waiting)
            waiting = []

    def resolve(instruction, labels):
        def address(match):
            label = match.group(1) or match.group(2)
            return f"{labels[label]:#x}" if label in labels else match.group(0)

        return REFERENCE.sub(address, instruction)

    return {name: {a: resolve(t, labels) for a, t in rows.items()} for name, (rows, labels) in functions.items()}

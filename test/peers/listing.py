"""Parses the plain listing of orias: `name:`, then labels and `/*address*/ text ;`."""
import re

FUNCTION = re.compile(r"^([\w$][\w$.]*):$")
LABEL = re.compile(r"^(\.L\w*):$")
ROW = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;$")
REFERENCE = re.compile(r"`\((\.L\w*)\)|(\.L\w*)")


class Function:
    """The rows of one function; branches refer to labels."""

    def __init__(self):
        self.rows, self.labels = {}, {}

    def at(self, base):
        """{address: text} with labels replaced by addresses, as nvdisasm prints raw code that starts at `base`."""

        def address(match):
            label = match.group(1) or match.group(2)
            return f"{base + self.labels[label]:#x}" if label in self.labels else match.group(0)

        return {base + a: REFERENCE.sub(address, text) for a, text in self.rows.items()}


def parse(text):
    """{name: Function}."""
    functions, function, waiting = {}, Function(), []
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            function = functions[match.group(1)] = Function()
            waiting = []
        elif match := LABEL.match(line):
            waiting.append(match.group(1))
        elif match := ROW.search(line):
            address = int(match.group(1), 16)
            function.rows[address] = match.group(2)
            function.labels.update((label, address) for label in waiting)
            waiting = []
    return functions

"""What ptxas and orias say on standard error: figures of -v, errors, and what is not supported."""
import re

FUNCTION = re.compile(r"(?:Compiling entry function|Function properties for|Function) '?([\w$.]+)'?")
REGISTERS = re.compile(r"Used (\d+) registers")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
ERROR = re.compile(r"^(?:(?P<place>[^\s:]+(?::\d+:\d+)?): )?(?:fatal )?error: (?P<text>.*)$", re.MULTILINE)


def registers(errors):
    """{function: registers} from the lines that -v prints."""
    found, name = {}, None
    for line in errors.splitlines():
        if match := FUNCTION.search(line):
            name = match.group(1)
        elif (match := REGISTERS.search(line)) and name:
            found[name] = int(match.group(1))
    return found


def spill_bytes(errors):
    """Bytes of spill stores and loads of all functions together."""
    return sum(int(s) + int(l) for s, l in SPILLS.findall(errors))


def reasons(errors):
    """The distinct error messages, without places and with names and numbers blotted out, so that they can be counted."""
    kinds = {}
    for match in ERROR.finditer(errors):
        text = match.group("text")
        kinds.setdefault(re.sub(r"%[\w$.]+|\b(?:0x)?\d+\b(?![-.\w])", "_", text), match.group("place") or "")
    return kinds

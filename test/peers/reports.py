"""Parses the messages of ptxas and orias on standard error: figures of -v, errors, and unsupported features."""
import re

SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
ERROR = re.compile(r"^(?:(?P<place>[^\s:]+(?::\d+:\d+)?): )?(?:fatal )?error: (?P<text>.*)$", re.MULTILINE)


def spill_bytes(errors):
    """Bytes of spill stores and loads of all functions together."""
    return sum(int(s) + int(l) for s, l in SPILLS.findall(errors))


def blot(message):
    """A message without the names and numbers that distinguish it from others of its kind."""
    message = re.sub(r"'[^']*'", "'_'", message)
    message = re.sub(r"(?:/[\w.-]+)+/", "", message)
    return re.sub(r"%[\w$.]+|\b(?:0x[0-9a-f]+|\d+)\b(?![-.\w])", "_", message)


def reasons(errors):
    """{message: location} of the distinct errors, normalized so that they can be counted."""
    kinds = {}
    for match in ERROR.finditer(errors):
        kinds.setdefault(blot(match.group("text")), match.group("place") or "")
    return kinds

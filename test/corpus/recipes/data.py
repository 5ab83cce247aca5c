"""Launches as Python data: buffers, scalars, variables, and how they are written as launch files."""
import json
import math
import random
import struct
import textwrap

LAUNCHES = {}

WIDTH = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64}


def launch(program, kernel=None, grid=1, block=32, shared=0, about=None, stops=None, folder="ptx", cluster=None):
    """Registers a recipe: a function, named as the launch file, that returns the kernel's arguments in order.

    `stops` is how the launch ends when it does not end well ("trap")."""

    def register(recipe):
        name = recipe.__name__
        if name in LAUNCHES:
            raise KeyError(name)
        head = {"$schema": "../../../tools/launch/launch.schema.json"}
        if about:
            head["description"] = about
        head.update(file=f"../{folder}/{program}.ptx", kernel=kernel or name, grid=grid, block=block)
        if cluster:
            head["cluster"] = cluster
        if shared:
            head["dynamicShared"] = shared
        if stops:
            head["stops"] = stops
        LAUNCHES[name] = (head, recipe)
        return recipe

    return register


class Buffer:
    """Memory that the kernel gets the address of. `init` and `expected` are lists, numbers, formulas or generators."""

    def __init__(self, name, kind, init=None, expected=None, count=None, tolerance=None, kernel_sees=True):
        self.name, self.kind, self.init, self.expected, self.tolerance = name, kind, init, expected, tolerance
        self.kernel_sees = kernel_sees
        lists = [part for part in (init, expected) if isinstance(part, list)]
        self.count = count if count is not None else max(len(part) for part in lists)

    def text(self):
        words = [f'"name": "{self.name}", "type": "{self.kind}"']
        has_count = self.kernel_sees and (not isinstance(self.init, list) or len(self.init) != self.count)
        if has_count:
            words.append(f'"count": {self.count}')
        for key in ("init", "expected"):
            part = getattr(self, key)
            if part is not None:
                words.append(f'"{key}": {elements(part, self.kind)}')
        if self.tolerance:
            words.append(f'"tolerance": {json.dumps(self.tolerance)}')
        return wrapped("    {", ", ".join(words), "}")

    def argument(self):
        return json.dumps({"buffer": self.name})


class Variable(Buffer):
    """A module variable and what it must hold after the launch."""

    def __init__(self, name, kind, expected):
        super().__init__(name, kind, expected=expected, kernel_sees=False)


class Scalar:
    def __init__(self, kind, value):
        self.kind, self.value = kind, value

    def argument(self):
        return f'{{"type": "{self.kind}", "value": {elements(self.value, self.kind)}}}'


class Raw:
    """An argument as the text of a launch file: structs, arrays, addresses inside a buffer."""

    def __init__(self, text):
        self.given = text

    def argument(self):
        return self.given


def elements(part, kind):
    """A value, a list of values, a formula (a string), or a generator (a dictionary)."""
    if isinstance(part, list):
        return "[" + ", ".join(elements(value, kind) for value in part) + "]"
    if isinstance(part, (dict, str)):
        return json.dumps(part)
    if isinstance(part, float):
        if math.isnan(part):
            return '"nan"'
        if math.isinf(part):
            return '"inf"' if part > 0 else '"-inf"'
        if part == int(part) and abs(part) < 1e15 and not (part == 0 and math.copysign(1, part) < 0):
            return str(int(part))
        if part == 0:
            return {"f16": '"0x8000"', "bf16": '"0x8000"', "f32": '"0x80000000"', "f64": '"0x8000000000000000"'}[kind]
        return repr(part)
    return str(int(part))


def wrapped(opening, text, closing):
    return "\n".join(textwrap.wrap(opening + text + closing, 118, initial_indent="", subsequent_indent="     ",
                                   break_long_words=False, break_on_hyphens=False, drop_whitespace=True)
                     if len(text) > 110 else [opening + text + closing])


def render(name):
    """The text of one launch file."""
    head, recipe = LAUNCHES[name]
    arguments = recipe()
    variables = [a for a in arguments if isinstance(a, Variable)]
    buffers = [a for a in arguments if isinstance(a, Buffer) and not isinstance(a, Variable)]
    parts = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    if buffers:
        parts.append('  "buffers": [\n' + ",\n".join(indented(b.text()) for b in buffers) + "\n  ]")
    if variables:
        parts.append('  "variables": [\n' + ",\n".join(indented(v.text()) for v in variables) + "\n  ]")
    words = [a.argument() for a in arguments if not isinstance(a, Variable)]
    if words:
        parts.append(wrapped('  "arguments": [', ", ".join(words), "]"))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def indented(text):
    return text if text.startswith("    ") else "    " + text


# ---- Integers as C has them


def cut(kind, value):
    """The value that is left in an integer of that type."""
    width = WIDTH[kind]
    value &= (1 << width) - 1
    return value - (1 << width) if kind[0] == "s" and value >> (width - 1) else value


def s32(value):
    return cut("s32", value)


def u32(value):
    return cut("u32", value)


def s64(value):
    return cut("s64", value)


def u64(value):
    return cut("u64", value)


def quotient(a, b):
    """Division that truncates."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def remainder(a, b):
    return a - b * quotient(a, b)


def clamp(kind, value):
    width = WIDTH[kind]
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    return max(low, min(high, value))


# ---- Contents


def integers(kind, count, seed, low=None, high=None):
    """Random integers; without bounds of all sizes, small ones and the limits among them."""
    source = random.Random(seed)
    if low is not None:
        return [source.randint(low, high) for _ in range(count)]
    width = WIDTH[kind]
    edges = [0, 1, -1, 2, (1 << (width - 1)) - 1, 1 << (width - 1), (1 << (width - 1)) + 1, 10]
    made = [cut(kind, e) for e in edges]
    while len(made) < count:
        made.append(cut(kind, source.getrandbits(width) >> source.randrange(width)))
    source.shuffle(made)
    return made[:count]


def reals(count, seed, low=-8.0, high=8.0, bits=24):
    """Random numbers of at most that many significant bits."""
    source = random.Random(seed)
    made = []
    for _ in range(count):
        mantissa, exponent = math.frexp(low + (high - low) * source.random())
        made.append(math.ldexp(round(mantissa * (1 << bits)), exponent - bits))
    return made


def f32_of_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def edge_f32(count, seed):
    """Zeros, infinities, NaN, subnormals, limits, and numbers of all magnitudes."""
    source = random.Random(seed)
    bits = [0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001, 0x007FFFFF,
            0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F000000, 0x33800000, 0x4B800000]
    while len(bits) < count:
        bits.append(source.getrandbits(32))
    source.shuffle(bits)
    return [f32_of_bits(b) for b in bits[:count]]

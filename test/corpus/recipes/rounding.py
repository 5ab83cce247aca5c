"""Floating-point arithmetic in exact fractions, rounded once: f16, bf16, f32 and f64, in all four directions.

Values are Python floats, which hold every number of these formats."""
import math
from fractions import Fraction

FORMATS = {"f16": (11, -14, 15), "bf16": (8, -126, 127), "tf32": (11, -126, 127), "f32": (24, -126, 127),
           "f64": (53, -1022, 1023)}


def rounded(exact, kind="f32", mode="rn", sign=1.0):
    """The number of that format nearest to a fraction (rn: ties to even; rz, ru, rd). `sign` is that of a zero."""
    precision, least, most = FORMATS[kind]
    if exact == 0:
        return math.copysign(0.0, sign)
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - precision + 1)
    steps = magnitude / unit
    whole = steps.numerator // steps.denominator
    rest = steps - whole
    away = mode == ("ru" if exact > 0 else "rd")
    if rest and (away or (mode == "rn" and (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1)))):
        whole += 1
    value = whole * unit
    limit = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** most
    if value > limit:
        infinite = mode == "rn" or away
        return math.copysign(math.inf if infinite else float(limit), 1 if exact > 0 else -1)
    return math.copysign(float(value), 1 if exact > 0 else -1)


def finite(*values):
    return all(math.isfinite(v) for v in values)


def fma(a, b, c, kind="f32", mode="rn"):
    if not finite(a, b, c):
        if math.isinf(c) and finite(a, b):
            return c
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(exact, kind, mode)
    product_sign = math.copysign(1, a) * math.copysign(1, b)
    if product_sign == math.copysign(1, c):
        return math.copysign(0.0, product_sign)
    return -0.0 if mode == "rd" else 0.0


def mul(a, b, kind="f32", mode="rn"):
    if not finite(a, b):
        return a * b
    return rounded(Fraction(a) * Fraction(b), kind, mode, math.copysign(1, a) * math.copysign(1, b))


def add(a, b, kind="f32", mode="rn"):
    return fma(a, 1.0, b, kind, mode)


def sub(a, b, kind="f32", mode="rn"):
    return fma(-b, 1.0, a, kind, mode)


def div(a, b, kind="f32"):
    if math.isnan(a) or math.isnan(b):
        return math.nan
    sign = math.copysign(1, a) * math.copysign(1, b)
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, sign)
    if math.isinf(a):
        return math.nan if math.isinf(b) else math.copysign(math.inf, sign)
    if math.isinf(b):
        return math.copysign(0.0, sign)
    return rounded(Fraction(a) / Fraction(b), kind, "rn", sign)


def sqrt(a, kind="f32"):
    """The root of a double rounded again is the root rounded, for formats of at most 25 bits."""
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    root = math.sqrt(a)
    return root if kind == "f64" else rounded(Fraction(root), kind)


def of(value, kind="f32", mode="rn"):
    """Converts an integer, a fraction or a float."""
    if isinstance(value, float) and (not math.isfinite(value) or value == 0):
        return value
    return rounded(Fraction(value), kind, mode)


def flush(value):
    return math.copysign(0.0, value) if abs(value) < 2.0 ** -126 else value


def saturate(value):
    """To [0, 1]; NaN and -0 become 0."""
    return 0.0 if math.isnan(value) or value <= 0 else min(value, 1.0)


def to_integer(value, kind, mode="rz"):
    """cvt: to an integer of that type, the nearest one when it does not fit."""
    from recipes.data import clamp
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return clamp(kind, (1 << 70) if value > 0 else -(1 << 70))
    whole = {"rz": math.trunc, "rd": math.floor, "ru": math.ceil, "rn": round}[mode](value)
    return clamp(kind, whole)


def least(a, b):
    """min: the other operand when one is NaN, and -0 below +0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    if a == b:
        return a if math.copysign(1, a) < 0 else b
    return min(a, b)


def most(a, b):
    return -least(-a, -b)

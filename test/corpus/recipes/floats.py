"""Floating-point arithmetic of all precisions, conversions, comparisons, approximations."""
import math
import random
import struct

from recipes import rounding as fp
from recipes.data import Buffer, Scalar, edge_f32, integers, launch, reals, s32, u32, u64
from recipes.integers import flat


@launch("f32_arith", "roundingModes", block=64)
def f32_rounding_modes():
    a, b = edge_f32(64, 1), edge_f32(64, 2)
    a[:24], b[:24] = reals(24, 3), reals(24, 4)
    modes = ("rn", "rz", "ru", "rd")
    rows = [[fp.add(x, y, "f32", m) for m in modes] + [fp.mul(x, y, "f32", m) for m in modes] +
            [fp.fma(x, y, x), fp.fma(x, y, 1.0, "f32", "rz"), fp.fma(x, 2.0, y, "f32", "ru"),
             fp.fma(x, y, -y, "f32", "rd")] for x, y in zip(a, b)]
    return [Buffer("a", "f32", a), Buffer("b", "f32", b), Buffer("out", "f32", expected=flat(rows))]


@launch("f32_arith", "flushToZero", block=64, about="Subnormal operands and results become zero; .sat clamps to [0, 1].")
def f32_flush():
    a, b = edge_f32(64, 5), edge_f32(64, 6)
    tiny = [math.ldexp(v, -130) for v in reals(16, 7)]
    a[:16], b[:16] = tiny, [math.ldexp(v, -3) for v in reals(16, 8)]
    rows = []
    for x, y in zip(a, b):
        p, q = fp.flush(x), fp.flush(y)
        rows.append((fp.flush(fp.add(p, q)), fp.flush(fp.saturate(fp.mul(p, q))), fp.flush(fp.fma(p, q, p)),
                     fp.saturate(fp.sub(x, y))))
    return [Buffer("a", "f32", a), Buffer("b", "f32", b), Buffer("out", "f32", expected=flat(rows))]


@launch("f32_arith", "polynomial", block=64)
def f32_polynomial():
    x, tenth = reals(64, 9), fp.of(0.1)
    y = [fp.fma(fp.fma(fp.fma(fp.fma(fp.fma(t, 0.125, -1.5), t, 2.75), t, -3.0), t, tenth), t, -7.25) for t in x]
    return [Buffer("x", "f32", x), Buffer("y", "f32", expected=y)]


@launch("f32_div_sqrt", "divide", block=128)
def f32_divide():
    a, b = edge_f32(128, 1), edge_f32(128, 2)
    a[:48], b[:48] = reals(48, 3), reals(48, 4)
    return [Buffer("a", "f32", a), Buffer("b", "f32", b), Buffer("out", "f32", expected=[fp.div(x, y) for x, y in zip(a, b)])]


@launch("f32_div_sqrt", "squareRoot", block=128)
def f32_square_root():
    a = edge_f32(128, 5)
    a[:48] = reals(48, 6, 0.0, 100.0)
    return [Buffer("a", "f32", a), Buffer("out", "f32", expected=flat((fp.sqrt(x), fp.div(1.0, x)) for x in a))]


@launch("f32_approx", "approximations", block=64, about="Within the errors that the PTX manual gives: tanh.approx has 2^-11, "
        "the others less than 2^-20 of their results or, near zero, absolutely.")
def f32_approximations():
    a = reals(64, 7, 0.125, 6.0)
    rows = [(1 / x, 1 / math.sqrt(x), math.exp(x), math.log(x), math.sin(x), math.cos(x), 2 ** x, x / (x + 3), math.tanh(x),
             math.sqrt(x)) for x in a]
    return [Buffer("a", "f32", a), Buffer("out", "f32", expected=[fp.of(v) for v in flat(rows)],
                                          tolerance={"absolute": 2e-6, "relative": 5e-4})]


@launch("f64_arith", "arithDouble", block=64, about="26 significant bits: the product that the next addition may be contracted "
        "with is exact, so that both ways round the same.")
def f64_arith():
    a, b = reals(64, 1, bits=26), reals(64, 2, bits=26)
    rows = [(x + y, x - y, x * y, x * y + 0.5, fp.add(x, y, "f64", "rz"), fp.mul(x, y, "f64", "ru"),
             fp.fma(x, y, x, "f64", "rd"), -x * abs(y), x + 1.0 if x < y else y * 3.25, 1e300 * x) for x, y in zip(a, b)]
    return [Buffer("a", "f64", a), Buffer("b", "f64", b), Buffer("out", "f64", expected=flat(rows))]


@launch("f64_arith", "sumDoubles", block=32)
def f64_sum():
    a = reals(32 * 11, 3, bits=53)
    out = []
    for t in range(32):
        s = 0.0
        for i in range(11):
            s = fp.fma(a[i * 32 + t], float(i), s, "f64")
        out.append(s)
    return [Buffer("a", "f64", a), Buffer("out", "f64", expected=out), Scalar("s32", 11)]


def edge_f64(count, seed):
    source = random.Random(seed)
    values = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
              3.0, 0.1, 4.9e-310]
    while len(values) < count:
        values.append(math.ldexp(source.uniform(-2, 2), source.randrange(-1060, 1020)))
    source.shuffle(values)
    return values[:count]


@launch("f64_div_sqrt", "divideDouble", block=128)
def f64_divide():
    a, b = edge_f64(128, 1), edge_f64(128, 2)
    a[:48], b[:48] = reals(48, 3, bits=53), reals(48, 4, bits=53)
    return [Buffer("a", "f64", a), Buffer("b", "f64", b),
            Buffer("out", "f64", expected=[fp.div(x, y, "f64") for x, y in zip(a, b)])]


@launch("f64_div_sqrt", "rootDouble", block=128)
def f64_square_root():
    a = edge_f64(128, 5)
    a[:48] = reals(48, 6, 0.0, 100.0, bits=53)
    return [Buffer("a", "f64", a),
            Buffer("out", "f64", expected=flat((fp.sqrt(x, "f64"), fp.div(1.0, x, "f64")) for x in a))]


@launch("convert_float", "intToFloat", block=64)
def convert_int_to_float():
    w, wide = integers("s32", 64, 1), integers("s64", 64, 2)
    singles, doubles = [], []
    for x, v in zip(w, wide):
        singles += [fp.of(x), fp.of(u32(x)), fp.of(v), fp.of(u64(v)), fp.of(x, "f32", "rz"),
                    float(((x + 2 ** 15) % 2 ** 16 - 2 ** 15) + x % 256)]
        doubles += [float(x), float(u32(x)), fp.of(v, "f64"), fp.of(u64(v), "f64")]
    return [Buffer("w", "s32", w), Buffer("l", "s64", wide), Buffer("f", "f32", expected=singles),
            Buffer("d", "f64", expected=doubles)]


@launch("convert_float", "floatToInt", block=64)
def convert_float_to_int():
    # To 16 bits only what fits: C leaves the rest undefined.
    f = reals(64, 3, -30000.0, 30000.0)
    f[:10] = [0.5, -0.5, 1.5, 2.5, -1.5, -0.0, 0.99999994, 30000.0, -30000.0, 1e-40]
    f[9] = 2.0 ** -140
    words = flat((fp.to_integer(x, "s32"), s32(fp.to_integer(x, "u32")), fp.to_integer(x, "s32", "rn"),
                  fp.to_integer(x, "s32", "ru"), fp.to_integer(x, "s32", "rd"), fp.to_integer(x, "s16")) for x in f)
    longs = flat((fp.to_integer(x, "s64"), fp.to_integer(x, "u64")) for x in f)
    return [Buffer("f", "f32", f), Buffer("w", "s32", expected=words), Buffer("l", "s64", expected=longs)]


@launch("convert_float", "doubleToInt", block=64)
def convert_double_to_int():
    d = reals(64, 4, -5e9, 5e9, bits=53)
    d[:12] = [0.5, -0.5, 1.5, 2.5, -1.5, -0.0, 1e300, -1e300, math.inf, -math.inf, 2.0 ** 31 - 0.5, 5e-324]
    words = flat((fp.to_integer(x, "s32"), s32(fp.to_integer(x, "u32")), fp.to_integer(x, "s32", "rn")) for x in d)
    longs = flat((fp.to_integer(x, "s64"), (fp.to_integer(x, "u64") + 2 ** 63) % 2 ** 64 - 2 ** 63) for x in d)
    singles = flat((fp.of(x), fp.of(x, "f32", "rz")) for x in d)
    return [Buffer("d", "f64", d), Buffer("w", "s32", expected=words), Buffer("l", "s64", expected=longs),
            Buffer("f", "f32", expected=singles)]


def integral(value, how):
    if not math.isfinite(value):
        return value
    return math.copysign(float(how(value)), value)


@launch("convert_float", "roundToIntegral", block=64)
def convert_to_integral():
    f, d = edge_f32(64, 5), reals(64, 6, -100.0, 100.0, bits=53)
    f[:20] = reals(20, 7)
    d[:8] = [0.5, -0.5, 1.5, 2.5, -2.5, -0.0, math.inf, 2.0 ** 60]
    ways = (math.floor, math.ceil, math.trunc, round)
    return [Buffer("f", "f32", f), Buffer("d", "f64", d),
            Buffer("outF", "f32", expected=flat([integral(x, w) for w in ways] for x in f)),
            Buffer("outD", "f64", expected=flat([integral(x, w) for w in ways] for x in d))]


def halves(count, seed, kind="f16"):
    return [fp.of(v, kind) for v in reals(count, seed, -4.0, 4.0)]


@launch("convert_half", "halfStorage", block=32)
def half_storage():
    h, b = halves(32, 1), halves(32, 2, "bf16")
    return [Buffer("h", "f16", h), Buffer("b", "bf16", b), Buffer("f", "f32", expected=[fp.add(x, y) for x, y in zip(h, b)]),
            Buffer("outH", "f16", expected=[fp.of(fp.mul(x, y), "f16") for x, y in zip(h, b)]),
            Buffer("outB", "bf16", expected=[fp.of(fp.sub(x, y), "bf16") for x, y in zip(h, b)])]


@launch("convert_half", "halfPairs", block=32)
def half_pairs():
    a, b, out = halves(64, 3), halves(64, 4), []
    for i in range(0, 64, 2):
        for way in (lambda x, y: fp.add(x, y, "f16"), lambda x, y: fp.mul(x, y, "f16"), lambda x, y: fp.fma(x, y, x, "f16")):
            out += [way(a[i], b[i]), way(a[i + 1], b[i + 1])]
    return [Buffer("a", "f16", a), Buffer("b", "f16", b), Buffer("out", "f16", expected=out)]


@launch("convert_half", "intToHalf", block=32)
def half_from_int():
    a = integers("s32", 32, 5, -70000, 70000)
    out = [fp.of(x, "f16") for x in a]
    return [Buffer("a", "s32", a), Buffer("out", "f16", expected=out),
            Buffer("back", "s32", expected=[fp.to_integer(x, "s32") for x in out])]


@launch("half_arith", "halfArith", block=32)
def half_arith():
    a, b = halves(32, 6), halves(32, 7)
    rows = [(fp.add(x, y, "f16"), fp.sub(x, y, "f16"), fp.mul(x, y, "f16"), fp.fma(x, y, x, "f16"), -x if x < y else abs(y),
             fp.most(x, y)) for x, y in zip(a, b)]
    return [Buffer("a", "f16", a), Buffer("b", "f16", b), Buffer("out", "f16", expected=flat(rows))]


@launch("half_arith", "bfloatArith", block=32)
def bfloat_arith():
    a, b = halves(32, 8, "bf16"), halves(32, 9, "bf16")
    rows = [(fp.add(x, y, "bf16"), fp.fma(x, y, y, "bf16"), x if x > y else y) for x, y in zip(a, b)]
    return [Buffer("a", "bf16", a), Buffer("b", "bf16", b), Buffer("out", "bf16", expected=flat(rows))]


@launch("minmax", "minMaxFloat", block=64)
def minmax_float():
    a, b = edge_f32(64, 1), edge_f32(64, 2)
    singles = flat((fp.least(x, y), fp.most(x, y), fp.sub(abs(x), abs(y)), -x, fp.saturate(x)) for x, y in zip(a, b))
    doubles = flat((fp.least(x, y), fp.most(x, -y), abs(x * y)) for x, y in zip(a, b))
    return [Buffer("a", "f32", a), Buffer("b", "f32", b), Buffer("out", "f32", expected=singles),
            Buffer("outD", "f64", expected=doubles)]


def comparison_inputs(seed):
    a, b = edge_f32(64, seed), edge_f32(64, seed + 1)
    b[:20] = a[:20]
    return a, b


@launch("compare_select", "compareFloat", block=64)
def compare_float():
    a, b = comparison_inputs(1)
    masks = []
    for x, y in zip(a, b):
        bits = [x == y, x != y, x < y, x <= y, x > y, x >= y, not x < y, not x >= y, math.isnan(x),
                not math.isnan(x) and not math.isnan(y), not x == y]
        masks.append(sum(bit << k for k, bit in enumerate(bits)))
    return [Buffer("a", "f32", a), Buffer("b", "f32", b), Buffer("mask", "u32", expected=masks)]


@launch("compare_select", "compareDouble", block=64)
def compare_double():
    a, b = comparison_inputs(3)
    masks = []
    for x, y in zip(a, b):
        bits = [x == y, x < y, x <= y, not x > y, not x >= y, x != y, math.isnan(x)]
        masks.append(sum(bit << k for k, bit in enumerate(bits)))
    return [Buffer("a", "f64", a), Buffer("b", "f64", b), Buffer("mask", "u32", expected=masks)]


@launch("compare_select", "selectValues", block=32)
def select_values():
    c, s = integers("s32", 32, 1, -5, 5), integers("s16", 33, 2)
    w, d = integers("s32", 33, 3), reals(32, 4, bits=53)
    rows = range(32)
    return [Buffer("c", "s32", c), Buffer("s", "s16", s), Buffer("w", "s32", w), Buffer("d", "f64", d),
            Buffer("outS", "s16", expected=[s[i] if c[i] > 0 else s[i + 1] for i in rows]),
            Buffer("outW", "s32", expected=[(w[i] if c[i] & 1 else 17) if c[i] > 0 else w[i + 1] for i in rows]),
            Buffer("outD", "f64", expected=[d[i] if c[i] > 0 and c[i] & 1 else -d[i] for i in rows])]


def float_bounds(bounds, is_hidden):
    special = [0, 1 << 31, 1, 0x80000001, 0x000116C2, 0x007FFFFF, 0x3F800000, 0x3F800001, 0xBF800000, 0xC0000000, 0xC0000001,
               0x40400000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x7FFFFFFF]
    rng = random.Random(11)
    a = special + [rng.getrandbits(32) for _ in range(64 - len(special))]
    results = []
    for bound in bounds:
        for order in ("lt", "le", "gt", "ge", "ltu", "leu", "gtu", "geu"):
            for takes_value in (False, True):
                for x in a:
                    v, b = real_of(x), real_of(bound)
                    holds = {"lt": v < b, "le": v <= b, "gt": v > b, "ge": v >= b}[order[:2]]
                    holds |= math.isnan(v) and order.endswith("u")
                    bits = x if holds == takes_value else bound
                    results.append(0x7FFFFFFF if is_hidden and math.isnan(real_of(bits)) else bits)
    return [Buffer("a", "u32", a), Buffer("out", "u32", expected=results)]


@launch("float_clamps", block=64, folder="handwritten")
def float_clamps():
    return float_bounds((0x3F800000, 0xC0000000, 0, 1 << 31, 0x000116C2, 0x7F800000), True)


@launch("float_clamps", "float_selects", block=64, folder="handwritten")
def float_selects():
    return float_bounds((0x40400000,), False)


def real_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]

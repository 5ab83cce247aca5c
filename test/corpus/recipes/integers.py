"""Integer arithmetic, logic, bit fields, conversions, comparisons."""
import struct

from recipes.data import (Buffer, Scalar, clamp, cut, integers, launch, quotient, remainder, s32, s64, u32, u64)


def flat(rows):
    return [value for row in rows for value in row]


@launch("integer_arith", "unsignedArith", block=64)
def integer_arith_unsigned():
    a, b = integers("u32", 64, 1), integers("u32", 64, 2)
    rows = [(u32(x * y + (x ^ y)), x * y >> 32, u32(abs(x - y) + x), (x + y) >> 1,
             u32((x & 0xFFFFFF) * (y & 0xFFFFFF)), u32(x * 10 - y * 3)) for x, y in zip(a, b)]
    return [Buffer("a", "u32", a), Buffer("b", "u32", b), Buffer("out", "u32", expected=flat(rows)),
            Buffer("wide", "u64", expected=[u64(x * y + x) for x, y in zip(a, b)])]


@launch("integer64", "arith64", block=64)
def integer64_signed():
    a, b = integers("s64", 64, 1), integers("s64", 64, 2)
    rows = [(x + y, x - y, x * y, x * y >> 64, -x, abs(x), max(x, y), x * 1000003 + y) for x, y in zip(a, b)]
    return [Buffer("a", "s64", a), Buffer("b", "s64", b), Buffer("out", "s64", expected=[s64(v) for v in flat(rows)])]


@launch("integer64", "arithU64", block=64)
def integer64_unsigned():
    a, k = integers("u64", 64, 3), 0x9E3779B97F4A7C15
    rows = [(x * k >> 64, u64(x * k + 1), min(x, k), u64((x >> 7) + (x << 9))) for x in a]
    return [Buffer("a", "u64", a), Buffer("out", "u64", expected=flat(rows)), Scalar("u64", k)]


@launch("integer16", "arith16", block=64)
def integer16_signed():
    a, b = integers("s16", 64, 1), integers("s16", 64, 2)
    rows = [(x + y, x - y, x * y, min(x, y), (x ^ y) >> 3) for x, y in zip(a, b)]
    return [Buffer("a", "s16", a), Buffer("b", "s16", b),
            Buffer("out", "s16", expected=[cut("s16", v) for v in flat(rows)])]


@launch("integer16", "arith8", block=64)
def integer8():
    a, b = integers("u8", 64, 1), integers("s8", 64, 2)
    rows = [(x + y, x * 3 - y, x if y < 0 else ~x, x << 3 | x >> 5) for x, y in zip(a, b)]
    return [Buffer("a", "u8", a), Buffer("b", "s8", b),
            Buffer("out", "u8", expected=[cut("u8", v) for v in flat(rows)])]


@launch("integer16", "wide16", block=64)
def integer16_wide():
    a, b = integers("u16", 64, 1), integers("u16", 64, 2)
    return [Buffer("a", "u16", a), Buffer("b", "u16", b), Buffer("out", "u32", expected=[x * y for x, y in zip(a, b)])]


@launch("int_division", "divideSigned", block=128)
def division_signed():
    # The quotient of the least number and -1 does not fit and is left out: b | 1 is -1 for it where b is odd.
    a, b = integers("s32", 128, 1), integers("s32", 128, 2)
    a = [x if (x, y | 1) != (-2 ** 31, -1) else 7 for x, y in zip(a, b)]
    return [Buffer("a", "s32", a), Buffer("b", "s32", b),
            Buffer("q", "s32", expected=[quotient(x, y | 1) for x, y in zip(a, b)]),
            Buffer("r", "s32", expected=[remainder(x, y | 1) for x, y in zip(a, b)])]


@launch("int_division", "divideUnsigned", block=128)
def division_unsigned():
    a, b = integers("u32", 128, 3), integers("u32", 128, 4)
    return [Buffer("a", "u32", a), Buffer("b", "u32", b),
            Buffer("q", "u32", expected=[x // (y | 1) for x, y in zip(a, b)]),
            Buffer("r", "u32", expected=[x % (y | 1) for x, y in zip(a, b)])]


@launch("int_division", "divideByConstants", block=64)
def division_by_constants():
    a = integers("s32", 64, 5)
    rows = [(quotient(x, 7), remainder(x, 10), quotient(x, 16), u32(x) // 1000) for x in a]
    return [Buffer("a", "s32", a), Buffer("out", "s32", expected=flat(rows))]


@launch("int64_division", "divide64", block=64)
def division64_signed():
    a, b = integers("s64", 64, 6), integers("s64", 64, 7)
    rows = [(s64(quotient(x, y | 1)), remainder(x, y | 1)) for x, y in zip(a, b)]
    return [Buffer("a", "s64", a), Buffer("b", "s64", b), Buffer("out", "s64", expected=flat(rows))]


@launch("int64_division", "divideU64", block=64)
def division64_unsigned():
    a, d = integers("u64", 64, 8), 0x12345678A
    rows = [(x // (d | 1), x % (d | 1)) for x in a]
    return [Buffer("a", "u64", a), Scalar("u64", d), Buffer("out", "u64", expected=flat(rows))]


@launch("wide_integers", "add128", block=32)
def wide_add128():
    a, b = integers("u64", 64, 1), integers("u64", 64, 2)
    rows = []
    for i in range(0, 64, 2):
        x, y = a[i] | a[i + 1] << 64, b[i] | b[i + 1] << 64
        for value in (x + y, x - y, x * y):
            rows.append((u64(value), u64(value >> 64)))
    return [Buffer("a", "u64", a), Buffer("b", "u64", b), Buffer("out", "u64", expected=flat(rows))]


@launch("wide_integers", "carryChain", block=32)
def carry_chain():
    a, b = integers("u32", 96, 3), integers("u32", 96, 4)
    out = []
    for i in range(0, 96, 3):
        x, y = [sum(v[i + k] << 32 * k for k in range(3)) for v in (a, b)]
        r = x + y
        r -= a[i + 1] | a[i + 2] << 32 | a[i] << 64
        words = [r >> 32 * k & 0xFFFFFFFF for k in range(3)]
        product = a[i] * b[i]
        low = words[0] + u32(product)
        out += [u32(low), u32(words[1] + (product >> 32) + (low >> 32)), words[2]]
    return [Buffer("a", "u32", a), Buffer("b", "u32", b), Buffer("out", "u32", expected=out)]


@launch("logic_shift", "logic32", block=64)
def logic32():
    a, b, c = (integers("u32", 64, seed) for seed in (1, 2, 3))
    rows = [(x & y, x | y, x ^ y, u32(~x), (x & y) | u32(~x & z), (x & y) ^ (x & z) ^ (y & z), x & 0xFFFF00FF,
             (x | 0x80000000) ^ z) for x, y, z in zip(a, b, c)]
    return [Buffer("a", "u32", a), Buffer("b", "u32", b), Buffer("c", "u32", c),
            Buffer("out", "u32", expected=flat(rows))]


@launch("logic_shift", "shifts", block=64, about="Counts from 0 past the width: PTX clamps them, funnel shifts wrap or clamp.")
def shifts():
    a = integers("s32", 64, 1)
    n = [k % 48 if k % 9 else 0x80000000 - 2 ** 32 for k in range(64)]
    out, wide = [], []
    for x, signed in zip(a, n):
        s, u = u32(signed), u32(x)
        funnel = u32(signed) << 32 | u
        out += [s32(x << 5), x >> 5, u >> 5, s32(x << s) if s < 32 else 0, x >> min(s, 31), u >> s if s < 32 else 0,
                s32(funnel << (s & 31) >> 32), s32(funnel >> min(s, 32))]
        w = s64((x << 20) ^ x)
        wide += [s64(w << s) if s < 64 else 0, w >> min(s, 63), u64(w) >> s if s < 64 else 0,
                 s64((w << 3) + (w >> 33))]
    return [Buffer("a", "s32", a), Buffer("n", "s32", n), Buffer("out", "s32", expected=[s32(v) for v in out]),
            Buffer("out64", "s64", expected=[s64(v) for v in wide])]


def extract(x, position, length, width, signed):
    """bfe, as the PTX manual describes it: the sign is that of the field's last bit inside the word."""
    position, length = position & 0xFF, length & 0xFF
    most = width - 1
    sign = 0
    if signed and length:
        sign = x >> min(position + length - 1, most) & 1
    return sum((x >> position + k & 1 if k < length and position + k <= most else sign) << k for k in range(width))


def insert(a, b, position, length, width):
    """bfi: `a` into `b`."""
    position, length = position & 0xFF, length & 0xFF
    for k in range(length):
        if position + k < width:
            b = b & ~(1 << position + k) | (a >> k & 1) << position + k
    return b


def reverse(x, width):
    return int(format(x, f"0{width}b")[::-1], 2)


def permute(x, y, selector):
    """prmt in its default mode; the selector's top bit repeats the byte's sign."""
    data = (y << 32 | x).to_bytes(8, "little")
    out = 0
    for k in range(4):
        nibble = selector >> 4 * k & 15
        byte = data[nibble & 7]
        out |= (byte if nibble < 8 else 0xFF * (byte >> 7)) << 8 * k
    return out


@launch("bitfield", "bitfield32", block=64)
def bitfield32():
    a, b = integers("u32", 64, 1), integers("u32", 64, 2)
    p = [k * 5 % 40 if k % 8 else 0x7A3C + k for k in range(64)]
    n = [k * 11 % 37 for k in range(64)]
    rows = [(extract(x, q, m, 32, False), extract(x, q, m, 32, True), insert(x, y, q, m, 32), reverse(x, 32),
             bin(x).count("1"), 32 - x.bit_length(), (x & -x).bit_length(), permute(x, y, 0x5410), permute(x, y, q & 0x7777),
             x >> 4 & 63, u32(s32(x << 11) >> 21), y >> 8 & 255) for x, y, q, m in zip(a, b, p, n)]
    return [Buffer("a", "u32", a), Buffer("b", "u32", b), Buffer("position", "u32", p), Buffer("length", "u32", n),
            Buffer("out", "u32", expected=flat(rows))]


@launch("bitfield", "bitfield64", block=64)
def bitfield64():
    a = integers("u64", 64, 3)
    rows = [(extract(x, 20, 30, 64, False), insert(x, u64(~x), 12, 40, 64), reverse(x, 64), bin(x).count("1"),
             64 - x.bit_length(), (x & -x).bit_length()) for x in a]
    return [Buffer("a", "u64", a), Buffer("out", "u64", expected=flat(rows))]


@launch("convert_int", "widen", block=32)
def convert_widen():
    c, uc, s = integers("s8", 32, 1), integers("u8", 32, 2), integers("s16", 32, 3)
    us, w = integers("u16", 32, 4), integers("s32", 32, 5)
    rows = [(c[i], uc[i], s[i], us[i], w[i], u32(w[i]), cut("s8", w[i]), cut("u16", w[i])) for i in range(32)]
    return [Buffer("c", "s8", c), Buffer("uc", "u8", uc), Buffer("s", "s16", s), Buffer("us", "u16", us),
            Buffer("w", "s32", w), Buffer("out", "s64", expected=flat(rows))]


@launch("convert_int", "narrow", block=32)
def convert_narrow():
    a = integers("s64", 32, 6)
    return [Buffer("a", "s64", a), Buffer("c", "s8", expected=[cut("s8", x) for x in a]),
            Buffer("s", "s16", expected=[cut("s16", x) for x in a]),
            Buffer("w", "s32", expected=[s32(s32(x) + cut("s8", x >> 8) + cut("s16", x >> 16)) for x in a])]


@launch("convert_int", "saturate", block=32)
def convert_saturate():
    a, b = integers("s32", 32, 7), integers("s32", 32, 8)
    rows = [(clamp("s8", x), clamp("u16", x), s32(cut("u16", clamp("s16", x)) << 16 | cut("u16", clamp("s16", y))),
             clamp("s32", x + y)) for x, y in zip(a, b)]
    return [Buffer("a", "s32", a), Buffer("b", "s32", b), Buffer("out", "s32", expected=flat(rows))]


@launch("compare_select", "compareInt", block=64)
def compare_int():
    a, b = integers("s32", 64, 1), integers("s32", 64, 2)
    a[:4], b[:4] = [3, 10, 4, -9], [3, 4, 4, -9]
    masks = []
    for x, y in zip(a, b):
        u, v = u32(x), u32(y)
        bits = [x == y, x != y, x < y, x <= y, x > y, x >= y, u < v, u <= v, u > v, u >= v, x < 10 and y > -10,
                x == 3 or y != 4]
        masks.append(sum(bit << k for k, bit in enumerate(bits)))
    return [Buffer("a", "s32", a), Buffer("b", "s32", b), Buffer("mask", "u32", expected=masks)]


@launch("compare_select", "compareInt64", block=64)
def compare_int64():
    a, b = integers("s64", 64, 3), integers("s64", 64, 4)
    a[:3], b[:3] = [5, -1, 2 ** 32], [5, 1, 2 ** 32 + 1]
    masks = []
    for x, y in zip(a, b):
        u, v = u64(x), u64(y)
        bits = [x == y, x < y, x >= y, u < v, u >= v, x != 0, u > 77]
        masks.append(sum(bit << k for k, bit in enumerate(bits)))
    return [Buffer("a", "s64", a), Buffer("b", "s64", b), Buffer("mask", "u32", expected=masks)]


@launch("minmax", "minMaxInt", block=64)
def minmax_int():
    a, b = integers("s32", 64, 1), integers("s32", 64, 2)
    rows = [(min(x, y), max(x, y), s32(min(u32(x), u32(y))), s32(max(u32(x), u32(y))), min(max(x, -100), 100))
            for x, y in zip(a, b)]
    return [Buffer("a", "s32", a), Buffer("b", "s32", b), Buffer("out", "s32", expected=flat(rows))]


@launch("minmax", "minMaxLong", block=64)
def minmax_long():
    a, b = integers("s64", 64, 3), integers("s64", 64, 4)
    rows = [(min(x, y), max(x, y), s64(abs(x))) for x, y in zip(a, b)]
    return [Buffer("a", "s64", a), Buffer("b", "s64", b), Buffer("out", "s64", expected=flat(rows))]


@launch("dot_products", "dotProducts", block=64)
def dot_products():
    a, b = integers("s32", 64, 1), integers("s32", 64, 2)
    out = []
    for x, y in zip(a, b):
        def parts(value, kind, count):
            width = 32 // count
            return [cut(kind, value >> width * k) for k in range(count)]
        signed = sum(p * q for p, q in zip(parts(x, "s8", 4), parts(y, "s8", 4)))
        unsigned = sum(p * q for p, q in zip(parts(x, "u8", 4), parts(y, "u8", 4)))
        pairs = sum(p * q for p, q in zip(parts(x, "s16", 2), parts(y, "s8", 4)))
        apart = sum(abs(p - q) << 8 * k for k, (p, q) in enumerate(zip(parts(x, "u8", 4), parts(y, "u8", 4))))
        low24 = [(v & 0xFFFFFF) - (v >> 23 & 1) * 0x1000000 for v in (x, y)]
        out += [s32(signed + 10), s32(unsigned + 10), pairs, s32(low24[0] * low24[1] + apart)]
    return [Buffer("a", "s32", a), Buffer("b", "s32", b), Buffer("out", "s32", expected=out)]


@launch("hash", "murmur", block=64)
def hash_murmur():
    data, seed, out = integers("u32", 20, 1), 0x1234ABCD, []
    for t in range(64):
        h = seed ^ t
        for k in data:
            k = u32(k * 0xCC9E2D51)
            k = u32(k << 15) | k >> 17
            h ^= u32(k * 0x1B873593)
            h = u32((u32(h << 13) | h >> 19) * 5 + 0xE6546B64)
        h = u32((h ^ h >> 16) * 0x85EBCA6B)
        h = u32((h ^ h >> 13) * 0xC2B2AE35)
        out.append(h ^ h >> 16)
    return [Buffer("data", "u32", data), Buffer("out", "u32", expected=out), Scalar("s32", 20), Scalar("u32", seed)]


@launch("hash", "splitMix", grid=2, block=32)
def hash_split_mix():
    seed, out = 0xFEDCBA9876543210, []
    for t in range(64):
        z = u64(seed + (t + 1) * 0x9E3779B97F4A7C15)
        z = u64((z ^ z >> 30) * 0xBF58476D1CE4E5B9)
        z = u64((z ^ z >> 27) * 0x94D049BB133111EB)
        out.append(z ^ z >> 31)
    return [Scalar("u64", seed), Buffer("out", "u64", expected=out)]


# The moduli of montgomery.ptx, by their number of words.
MODULI = {4: 0xFFFFFFFD_FFFFFFFF_FFFFFFFF_FFFFFFFF,
          8: 0x30644E72_E131A029_B85045B6_8181585D_2833E848_79B97091_43E1F593_F0000001}


def numbers(count, words, seed, limit):
    """So many numbers below a limit, among them 0, 1 and the largest one."""
    flat_words = integers("u32", count * words, seed)
    values = [sum(flat_words[words * i + k] << 32 * k for k in range(words)) % limit for i in range(count)]
    values[:4] = [limit - 1, 0, 1, limit - 1]
    return values


def split(values, words):
    return [value >> 32 * k & 0xFFFFFFFF for value in values for k in range(words)]


def big_product(words, seed):
    a, b = (numbers(32, words, seed + k, 1 << 32 * words) for k in (0, 1))
    return [Buffer("a", "u32", split(a, words)), Buffer("b", "u32", split(b, words)),
            Buffer("out", "u32", expected=split([x * y for x, y in zip(a, b)], 2 * words))]


def montgomery_product(words, seed):
    p = MODULI[words]
    a, b = (numbers(32, words, seed + k, p) for k in (0, 1))
    inverse = pow(1 << 32 * words, -1, p)
    return [Buffer("a", "u32", split(a, words)), Buffer("b", "u32", split(b, words)),
            Buffer("out", "u32", expected=split([x * y * inverse % p for x, y in zip(a, b)], words))]


@launch("montgomery", "product4", folder="handwritten")
def montgomery_product4():
    return big_product(4, 41)


@launch("montgomery", "product8", folder="handwritten")
def montgomery_product8():
    return big_product(8, 43)


@launch("montgomery", "montgomery4", folder="handwritten")
def montgomery_reduced4():
    return montgomery_product(4, 45)


@launch("montgomery", "montgomery8", folder="handwritten")
def montgomery_reduced8():
    return montgomery_product(8, 47)


@launch("narrow_loads", block=64, folder="handwritten")
def narrow_loads():
    a = integers("u32", 256, 77)
    tile = [list(struct.pack("<4I", *a[4 * t:4 * t + 4])) for t in range(64)]
    sums, rows = [0] * 64, []

    def add(values_of):
        for t in range(64):
            for value in values_of(t):
                sums[t] = u32(sums[t] * 31 + value)
        rows.extend(sums)

    def read(row, kind):
        return struct.unpack("<" + {"u8": "16B", "s8": "16b", "u16": "8H", "s16": "8h"}[kind], bytes(row))

    for kind in ("u8", "s8", "u16", "s16"):
        add(lambda t, kind=kind: read(tile[t ^ 1], kind))
    add(lambda t: [cut("s16", h[i] * h[i + 1] + h[(i + 3) % 8]) for h in [read(tile[t ^ 1], "u16")] for i in (0, 2, 4, 6)])
    before = [tile[t][:4] for t in range(64)]
    for row in tile:
        row[5] = 77
    add(lambda t: before[t] + tile[t][4:8])
    add(lambda t: struct.unpack_from("<4h", bytes(tile[t]), a[4 * t] & 2))
    return [Buffer("a", "u32", a), Buffer("out", "u32", expected=rows)]

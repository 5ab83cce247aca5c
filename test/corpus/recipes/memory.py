"""Loads and stores of every space and width, parameters, module variables."""
import struct

from recipes import rounding as fp
from recipes.data import Buffer, Raw, Scalar, Variable, cut, integers, launch, reals, s32, u32
from recipes.integers import flat


@launch("load_widths", "scalars", block=32)
def load_scalars():
    s8, u8, s16 = integers("s8", 40, 1), integers("u8", 40, 2), integers("s16", 40, 3)
    u16, w, wide = integers("u16", 40, 4), integers("s32", 140, 5), integers("s64", 40, 6)
    out, f = [0] * 8, [0.0] * 97
    for i in range(1, 33):
        out += [s8[i] + u8[i + 1], s16[i - 1] + u16[i + 1], w[i + 100], wide[i - 1], 0, 0, 0, 0]
        f[i], f[i + 64] = fp.of(w[i]), float(u8[i])
    return [Buffer("s8", "s8", s8), Buffer("u8", "u8", u8), Buffer("s16", "s16", s16), Buffer("u16", "u16", u16),
            Buffer("s32", "s32", w), Buffer("s64", "s64", wide), Buffer("f", "f32", init=0, count=97, expected=f),
            Buffer("out", "s64", init=0, count=264, expected=out)]


@launch("load_widths", "vectors", block=32)
def load_vectors():
    c, s, a = integers("u8", 128, 1), integers("u16", 64, 2), integers("s32", 64, 3)
    b, wide = integers("s32", 128, 4), integers("s64", 64, 5)
    f, d = reals(128, 6, bits=11), reals(64, 7, bits=20)
    out, doubles = [], []
    for i in range(32):
        out += [c[4 * i] + b[4 * i + 3], c[4 * i + 1] + s[2 * i], c[4 * i + 2] * a[2 * i], c[4 * i + 3] - wide[2 * i],
                a[2 * i + 1], s[2 * i + 1], b[4 * i] ^ b[4 * i + 1], wide[2 * i + 1] + b[4 * i + 2]]
        doubles += [d[2 * i + 1] + f[4 * i] * f[4 * i + 1], d[2 * i] - f[4 * i + 2] * f[4 * i + 3]]
    return [Buffer("c4", "u8", c), Buffer("s2", "u16", s), Buffer("w2", "s32", a), Buffer("w4", "s32", b),
            Buffer("l2", "s64", wide), Buffer("f4", "f32", f), Buffer("d2", "f64", d),
            Buffer("out", "s32", expected=[s32(v) for v in out]), Buffer("outD", "f64", expected=doubles)]


@launch("load_widths", "copyBytes", block=32)
def load_bytes():
    a = integers("u8", 64, 8)
    pairs = [(a[2 * i], a[2 * i + 1]) for i in range(32)]
    return [Buffer("in", "u8", a), Buffer("out", "u8", expected=flat((y, x) for x, y in pairs)),
            Buffer("wide", "u16", expected=flat((x, y, x + y, cut("u16", x - y)) for x, y in pairs))]


@launch("read_only", "readOnly", grid=2, block=32, about="Whole numbers below 2^20: every sum is exact.")
def read_only():
    c, s = integers("u8", 64, 1), integers("s16", 64, 2)
    w, wide = integers("s32", 64, 3, -9999, 9999), integers("s64", 64, 4, -9999, 9999)
    f, d = [float(v) for v in integers("s32", 64, 5, -999, 999)], reals(64, 6, bits=20)
    return [Buffer("c", "u8", c), Buffer("s", "s16", s), Buffer("w", "s32", w), Buffer("l", "s64", wide),
            Buffer("f", "f32", f), Buffer("d", "f64", d),
            Buffer("out", "f64", expected=[c[i] + s[i] + w[i] + wide[i] + f[i] + d[i] for i in range(64)])]


@launch("read_only", "readOnlyVectors", block=32)
def read_only_vectors():
    w2, w4 = integers("u32", 64, 1), integers("u32", 128, 2)
    l2 = integers("u64", 64, 3)
    f2, f4, d = reals(64, 4, bits=10), reals(128, 5, bits=10), reals(64, 6, bits=20)
    out, doubles = [], []
    for i in range(32):
        a, b, wide, f, g, e = (v[n * i:n * i + n] for v, n in ((w2, 2), (w4, 4), (l2, 2), (f2, 2), (f4, 4), (d, 2)))
        out += [u32(a[0] + b[0]), a[1] ^ b[1], u32(b[2] + wide[0]), u32(b[3] - wide[1])]
        doubles += [e[0] * f[0] + g[1], e[1] + f[1] - g[0] * g[2] + g[3]]
    return [Buffer("w2", "u32", w2), Buffer("w4", "u32", w4), Buffer("l2", "u64", l2), Buffer("f2", "f32", f2),
            Buffer("f4", "f32", f4), Buffer("d2", "f64", d), Buffer("out", "u32", expected=out),
            Buffer("outD", "f64", expected=doubles)]


@launch("cache_operators", "cacheLoads", block=32)
def cache_loads():
    a, b = integers("s32", 40, 1), reals(132, 2, bits=20)
    return [Buffer("a", "s32", a), Buffer("b", "f32", b),
            Buffer("out", "s32", expected=[s32(sum(a[i:i + 6])) for i in range(32)]),
            Buffer("out4", "f32", expected=[fp.add(b[i], b[i + 4]) for i in range(128)])]


@launch("cache_operators", "cacheStores", block=32)
def cache_stores():
    return [Buffer("a", "s32", count=128, expected="x + i / 32"), Buffer("b", "s64", count=32, expected="x"),
            Buffer("c", "f32", count=128, expected="i % 4 == 0 ? x : i % 4"),
            Raw('{"name": "x", "type": "s32", "value": 12345}')]


@launch("cache_operators", "prefetches", block=32)
def cache_prefetches():
    return [Buffer("p", "s8", count=4096, init={"generator": "bits", "seed": 1}), Buffer("out", "s32", count=32, expected="p[128 * i]")]


@launch("cache_operators", "volatiles", block=32)
def cache_volatiles():
    a, b = integers("s32", 32, 3), reals(32, 4)
    return [Buffer("a", "s32", a, expected=[s32(2 * x) for x in a]), Buffer("b", "f32", b, expected=[2 * x for x in b])]


@launch("memory_fences", "fences", block=32)
def fences():
    return [Buffer("data", "s32", count=96, expected="i < 32 ? i * i : i < 64 ? i - 32 : 1"),
            Buffer("flag", "s32", init=[0], expected=[1])]


@launch("memory_fences", "orderedAccess", block=32)
def ordered_access():
    return [Buffer("a", "u32", count=32, init=0, expected="i * 3 + 1"), Buffer("out", "u32", count=32, expected="i * 3 + 1")]


@launch("const_memory", "constants", block=64)
def constant_tables():
    weights = [fp.of(w) for w in (1.0, 0.5, 0.25, 0.125, -1.0, 2.0, 3.5, 1e-3, 7.0)] + [0.0] * 7
    offsets, codes, k = (-2, -1, 1, 2), (3, 1, 4, 1, 5, 9, 2, 6), 8
    a, out = reals(68, 1), [0.0, 0.0]
    for i in range(2, 66):
        # The order in which nvcc adds: the first neighbour goes into the first product.
        s = fp.mul(weights[3], a[i])
        for j in range(4):
            s = fp.fma(a[i + offsets[j]], weights[j + 1], s)
        s = fp.fma(weights[k], weights[codes[i & 7]], s)
        out.append(fp.mul(s, 0.75))
    return [Buffer("in", "f32", a), Buffer("out", "f32", init=0, count=66, expected=out), Scalar("s32", k)]


@launch("local_array", "localArray", block=32)
def local_array():
    a, out = integers("s32", 32, 1), []
    for t in range(32):
        stack = [s32(a[t] * i + t) for i in range(32)]
        s = 0
        for i in range(32):
            s = s32(s * 3 + stack[s + i & 31])
        out.append(s)
    return [Buffer("in", "s32", a), Buffer("out", "s32", expected=out)]


@launch("local_array", "localBytes", block=32)
def local_bytes():
    a, n, out = integers("u8", 72, 2), 40, []
    for t in range(32):
        seen, slots = [0] * 64, [0.0, 1.0, 2.0, 3.0]
        for i in range(n):
            seen[a[t + i] & 63] = seen[a[t + i] & 63] + 1 & 255
            slots[a[i] & 3] += seen[a[t] & 63]
        out.append(slots[t & 3] + slots[a[t] & 3])
    return [Buffer("in", "u8", a), Buffer("out", "f64", expected=out), Scalar("s32", n)]


@launch("local_vectors", "localVectors", block=32)
def local_vectors():
    a, n, out = reals(512, 3, bits=20), 2, []
    for t in range(32):
        v = [a[16 * t + 4 * i:16 * t + 4 * i + 4] for i in range(4)]
        v = [[y, z, w, 2 * x] if i < n else [x, y, z, w] for i, (x, y, z, w) in enumerate(v)]
        s = v[t & 3]
        out += [fp.add(s[0], v[0][0]), fp.add(s[1], v[1][1]), fp.sub(s[2], v[2][2]), fp.mul(s[3], v[3][3])]
    return [Buffer("in", "f32", a), Buffer("out", "f32", expected=out), Scalar("s32", n)]


@launch("shared_dynamic", "dynamicParts", block=64, shared=48 * 12)
def shared_dynamic():
    n = 48
    a = [float(v) for v in integers("s32", n, 1, -1000, 1000)]
    pool = struct.pack("<d", a[0])
    out = [a[(i * 7 + 3) % n] + pool[i % 8] for i in range(n)]
    return [Buffer("in", "f64", a), Buffer("out", "f64", expected=out), Scalar("s32", n)]


@launch("shared_static", "transpose", grid=[3, 2], block=[16, 16])
def shared_transpose():
    return [Buffer("in", "f32", count=40 * 24, init="i * 0.5"),
            Buffer("out", "f32", count=40 * 24, expected="in[i % 24 * 40 + i / 24]"), Scalar("s32", 40), Scalar("s32", 24)]


@launch("shared_static", "twoArrays", block=128)
def shared_two_arrays():
    a = integers("s32", 128, 2)
    return [Buffer("in", "s32", a), Buffer("out", "s32", expected=[s32(a[127 - i] - cut("s16", a[127 - i])) for i in range(128)])]


@launch("shared_vectors", "sharedVectors", block=64)
def shared_vectors():
    a = reals(256, 3, bits=11)
    out, narrow = [], []
    for i in range(64):
        narrow += [i, i >> 1, i * 3 & 255, ~i & 255]
    for i in range(64):
        v, h = a[4 * (63 - i):4 * (63 - i) + 4], a[2 * i:2 * i + 2]
        out += [fp.add(fp.add(v[0], v[3]), h[0]), fp.add(fp.sub(fp.mul(v[1], v[2]), h[1]), (63 - i) * 0.5)]
    return [Buffer("in", "f32", a), Buffer("out", "f32", expected=out),
            Buffer("bytes", "u8", expected=[narrow[255 - i] + cut("s8", narrow[i]) & 255 for i in range(64)])]


@launch("params_large", "largeParameters", block=32)
def parameters_large():
    values = integers("s32", 1020, 1)
    n = 1000
    out = [s32(sum(values[t:n:32]) + values[1019]) for t in range(32)]
    return [Raw('{"type": "s32", "value": [' + ", ".join(map(str, values)) + "]}"), Buffer("out", "s32", expected=out),
            Scalar("s32", n)]


@launch("params_struct", "structParameter", block=32)
def parameters_struct():
    matrix = [1.5, -2.25, 3.0, 4.5, 0.125, -6.0, 7.75, 8.0, -9.5]
    rest = 2.5 - 7 + 300 + 200 + 65
    fields = ['{"type": "s32", "value": 20}']
    for c, d, s in ((-7, 1e10, 5), (9, 2.5, 300)):
        fields.append(f'{{"fields": [{{"type": "s8", "value": {c}}}, {{"type": "f64", "value": {d}}}, {{"type": "s16", "value": {s}}}]}}')
    fields += ['{"type": "f32", "value": ' + str(matrix) + "}", '{"type": "u8", "value": [1, 2, 3, 4, 200]}']
    out = [matrix[i % 3 * 3 + i // 3 % 3] + rest for i in range(20)] + [0.0] * 12
    return [Raw('{"fields": [' + ", ".join(fields) + "]}"), Buffer("out", "f32", init=0, count=32, expected=out),
            Scalar("s8", 65)]


@launch("params_struct", "mixedParameters", block=32)
def parameters_mixed():
    value = 200 - 3000 + (1 << 20) + 0.5 + 0.125 + 1 + 6 * -7 - 100
    return [Scalar("u8", 200), Scalar("s16", -3000), Scalar("s64", 1 << 20), Scalar("f32", 0.5), Scalar("f64", 0.125),
            Scalar("u8", 1), Raw('{"type": "s32", "value": [6, -7, 100]}'), Buffer("out", "f64", expected=[value] * 32)]


@launch("async_copy", "asyncCopy", block=64)
def async_copy():
    tiles = 3
    a = reals(256 * tiles, 1)
    out = []
    for k in range(tiles):
        for t in range(64):
            out += a[256 * k + 4 * (63 - t):256 * k + 4 * (63 - t) + 4][::-1]
    return [Buffer("in", "f32", a), Buffer("out", "f32", expected=out), Scalar("s32", tiles)]


@launch("generic_pointer", "generic", block=32)
def generic_pointers():
    a = integers("s32", 32, 1, -1000, 1000)
    twice, n = [2 * x for x in a], 20
    rows = [a if x & 1 else twice for x in a]
    return [Buffer("global", "s32", a), Buffer("out", "s32", expected=[rows[t][t + 1 & 31] for t in range(32)] +
                                               [sum(rows[t][:n]) for t in range(32)]), Scalar("s32", n)]


@launch("generic_pointer", "addressSpaces", block=32)
def generic_spaces():
    return [Buffer("p", "s32", init=[1, 2, 3]),
            Buffer("out", "s32", count=32, init="i", expected="i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 4")]


@launch("module_variables", "readModule", block=32)
def module_read():
    table, text = [10, 20, 30, 0, 0], b"orias\tPTX\0\0\0"
    out = [table[i] + text[i] for i in range(5)] + [9] * 3 + [42 + 20, 10 + 20, 0 + 20] + [9] * 5 + [42] * 32
    sums = [1.5 + 100 - 1 + ord("a") + 3.0, 2.5e-10 - 200 + 2 + ord("b") - 0.0]
    return [Buffer("out", "s32", init=9, expected=out), Buffer("outD", "f64", expected=sums),
            Variable("zeroed", "f32", expected=[42.0] * 32 + [0.0] * 224), Variable("counter", "s32", expected=[42])]


@launch("module_variables", "bumpModule", block=5)
def module_bump():
    return [Variable("counter", "s32", expected=[43]), Variable("table", "s32", expected=[10, 1, 2, 3, 4])]

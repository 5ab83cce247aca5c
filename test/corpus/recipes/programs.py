"""Small programs with known answers: search, sorting, hashing, games, fractals, bodies, sparse matrices."""
import base64
import hashlib
import math

from recipes import rounding as fp
from recipes.data import Buffer, Scalar, integers, launch, reals, s32, u32


@launch("binary_search", "lowerBound", grid=2, block=64)
def lower_bound():
    table, keys = sorted(integers("s32", 77, 1, -500, 500)), integers("s32", 100, 2, -600, 600)
    return [Buffer("sorted", "s32", table), Scalar("s32", 77), Buffer("keys", "s32", keys),
            Buffer("out", "s32", expected=[sum(v < key for v in table) for key in keys]), Scalar("s32", 100)]


@launch("edit_distance", "editDistance", block=32)
def edit_distance():
    pattern, words = integers("s8", 12, 3, 97, 100), integers("s8", 512, 4, 97, 100)
    out = []
    for t in range(32):
        word = words[16 * t:16 * t + 16]
        row = list(range(17))
        for i, letter in enumerate(pattern, 1):
            last, row = row, [i]
            for j in range(1, 17):
                row.append(min(last[j - 1] + (letter != word[j - 1]), last[j] + 1, row[j - 1] + 1))
        out.append(row[16])
    return [Buffer("words", "s8", words), Buffer("pattern", "s8", pattern), Scalar("s32", 12),
            Buffer("out", "u16", expected=out)]


@launch("game_of_life", "step", grid=[2, 3], block=[16, 8])
def game_of_life():
    width, height = 30, 20
    cells = integers("u8", width * height, 5, 0, 1)
    out = []
    for y in range(height):
        for x in range(width):
            n = sum(cells[(y + dy) % height * width + (x + dx) % width] for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy)
            out.append(int(n == 3 or (n == 2 and cells[y * width + x])))
    return [Buffer("in", "u8", cells), Buffer("out", "u8", expected=out), Scalar("s32", width), Scalar("s32", height)]


@launch("histogram", "histogram", grid=3, block=64)
def histogram_shared():
    return [Buffer("data", "u8", count=1000, init={"generator": "bits", "seed": 6}),
            Buffer("bins", "u32", count=256, init="i", expected="i + sum(k, 0, 1000, data[k] == i)"), Scalar("s32", 1000)]


@launch("mandelbrot", "mandelbrot", grid=[2, 12], block=16)
def mandelbrot():
    width, height, x0, y0, step, limit = 32, 12, -2.0, fp.of(-1.1), fp.of(0.09), 60
    out = []
    for py in range(height):
        for px in range(width):
            cx, cy = fp.fma(float(px), step, x0), fp.fma(float(py), step, y0)
            x = y = xx = yy = 0.0
            n = 0
            while n < limit and fp.add(xx, yy) < 4.0:
                t = fp.add(cx, fp.sub(xx, yy))
                y = fp.fma(fp.add(x, x), y, cy)
                x, n = t, n + 1
                xx, yy = fp.mul(x, x), fp.mul(y, y)
            out.append(n)
    return [Buffer("out", "u8", expected=out), Scalar("s32", width), Scalar("f32", x0), Scalar("f32", y0),
            Scalar("f32", step), Scalar("s32", limit)]


@launch("nbody", "forces", grid=2, block=64, about="Sums of 128 terms, each with the error of rsqrt.approx (2^-22.9) three times.")
def nbody():
    n, bodies = 128, reals(512, 7, -4.0, 4.0)
    out = []
    for i in range(n):
        me = bodies[4 * i:4 * i + 3]
        force = [0.0, 0.0, 0.0]
        for j in range(n):
            d = [b - m for b, m in zip(bodies[4 * j:4 * j + 3], me)]
            w = bodies[4 * j + 3] / math.sqrt(sum(v * v for v in d) + 1e-3) ** 3
            force = [f + v * w for f, v in zip(force, d)]
        out += force
    return [Buffer("bodies", "f32", bodies), Buffer("out", "f32", expected=[fp.of(v) for v in out],
                                                    tolerance={"absolute": 2e-3, "relative": 1e-4}), Scalar("s32", n)]


@launch("spmv", "spmv", grid=2, block=32)
def sparse_matrix():
    n, rows, columns = 50, [0], []
    lengths = integers("s32", n, 8, 0, 9)
    for k, length in enumerate(lengths):
        columns += sorted({(k * 7 + j * j * 3) % n for j in range(length)})
        rows.append(len(columns))
    values, x = reals(len(columns), 9, bits=53), reals(n, 10, bits=53)
    y = []
    for r in range(n):
        s = 0.0
        for j in range(rows[r], rows[r + 1]):
            s = fp.fma(values[j], x[columns[j]], s, "f64")
        y.append(s)
    return [Buffer("rows", "s32", rows), Buffer("columns", "s32", columns), Buffer("values", "f64", values),
            Buffer("x", "f64", x), Buffer("y", "f64", expected=y), Scalar("s32", n)]


@launch("stencil", "stencil", grid=[2, 3], block=[16, 8], about="Quarters of whole numbers: exact in every order.")
def stencil_plane():
    width, height = 25, 18
    a = [float(v) for v in integers("s32", width * height, 11, -1000, 1000)]
    out = []
    for i, v in enumerate(a):
        x, y = i % width, i // width
        if x in (0, width - 1) or y in (0, height - 1):
            out.append(v)
        else:
            out.append(0.25 * (a[i - 1] + a[i + 1] + a[i - width] + a[i + width]) - 0.125 * v)
    return [Buffer("in", "f64", a), Buffer("out", "f64", expected=out), Scalar("s32", width), Scalar("s32", height)]


@launch("vector_add", "vectorAdd", grid=2, block=48)
def vector_add_edges():
    a, b = [x for x in reals(90, 12)], [x for x in reals(90, 13, -1e30, 1e30)]
    return [Buffer("a", "f32", a), Buffer("b", "f32", b), Buffer("c", "f32", expected=[fp.add(x, y) for x, y in zip(a, b)]),
            Scalar("s32", 90)]


@launch("convolution", "convolve", grid=[2, 3], block=[16, 8], about="Whole numbers over 256: exact in every order.")
def convolution():
    width, height, row = 30, 20, (1, 4, 6, 4, 1)
    a = [float(v) for v in integers("s32", width * height, 14, -1000, 1000)]

    def at(x, y):
        return a[y * width + x] if 0 <= x < width and 0 <= y < height else 0.0

    out = [sum(row[dy] * row[dx] * at(x + dx - 2, y + dy - 2) for dy in range(5) for dx in range(5)) / 256
           for y in range(height) for x in range(width)]
    return [Buffer("in", "f32", a), Buffer("out", "f32", expected=out), Scalar("s32", width), Scalar("s32", height)]


@launch("softmax", "softmax", grid=3, block=64, about="Exponentials by ex2.approx: 2^-22 each, more for large arguments.")
def softmax():
    columns, a, out = 100, reals(300, 15), []
    for r in range(3):
        row = [math.exp(v) for v in a[100 * r:100 * r + 100]]
        out += [fp.of(v / sum(row)) for v in row]
    return [Buffer("in", "f32", a), Buffer("out", "f32", expected=out, tolerance={"absolute": 1e-9, "relative": 1e-5}),
            Scalar("s32", columns)]


@launch("softmax", "layerNorm", grid=3, block=64, about="Sums of 100 in any order, and rsqrt.approx.")
def layer_norm():
    columns, a, out = 100, reals(300, 16), []
    scale, shift = reals(100, 17, 0.5, 2.0), reals(100, 18)
    for r in range(3):
        row = a[100 * r:100 * r + 100]
        mean = sum(row) / columns
        factor = 1 / math.sqrt(sum(v * v for v in row) / columns - mean * mean + 1e-5)
        out += [fp.of((v - mean) * factor * w + b) for v, w, b in zip(row, scale, shift)]
    return [Buffer("in", "f32", a), Buffer("scale", "f32", scale), Buffer("shift", "f32", shift),
            Buffer("out", "f32", expected=out, tolerance={"absolute": 2e-5, "relative": 1e-5}), Scalar("s32", columns)]


@launch("monte_carlo", "quarterCircle", grid=2, block=32)
def monte_carlo():
    state, draws, hits = 0x123456789ABCDEF, 25, []
    states = []
    for _ in range(64):
        states.append(state)
        for _ in range(1000):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
    for state in states:
        inside = 0
        for _ in range(draws):
            point = []
            for _ in range(2):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
                point.append(state >> 40)
            inside += point[0] ** 2 + point[1] ** 2 < 2 ** 48
        hits.append(inside)
    return [Scalar("u64", 0x123456789ABCDEF), Scalar("s32", draws), Buffer("hits", "u32", expected=hits),
            Buffer("total", "u32", [0], expected=[sum(hits)])]


@launch("graph_bfs", "bfsStep", grid=2, block=64)
def graph_bfs():
    n, depth, rows, columns = 100, 1, [0], []
    degrees, targets = integers("s32", n, 19, 0, 6), iter(integers("s32", 700, 20, 0, n - 1))
    for degree in degrees:
        columns += [next(targets) for _ in range(degree)]
        rows.append(len(columns))
    level = [-1 if v % 3 else v // 3 % 2 for v in range(n)]
    after = list(level)
    for v in range(n):
        if level[v] == depth:
            for w in columns[rows[v]:rows[v + 1]]:
                after[w] = depth + 1 if after[w] == -1 else after[w]
    found = sum(a != b for a, b in zip(level, after))
    return [Buffer("rows", "s32", rows), Buffer("columns", "s32", columns), Buffer("level", "s32", level, expected=after),
            Scalar("s32", depth), Scalar("s32", n), Buffer("found", "s32", [0], expected=[found])]


@launch("sha256", "sha256", block=32)
def sha256():
    length, text = 43, bytes(integers("u8", 43 * 32, 21))
    out = []
    for t in range(32):
        digest = hashlib.sha256(text[length * t:length * t + length]).digest()
        out += [int.from_bytes(digest[4 * k:4 * k + 4], "big") for k in range(8)]
    return [Buffer("text", "u8", list(text)), Scalar("s32", length), Buffer("digest", "u32", expected=out)]


@launch("base64", "base64", grid=2, block=64)
def base64_text():
    text = bytes(integers("u8", 250, 22))
    return [Buffer("in", "u8", list(text)), Buffer("out", "s8", expected=list(base64.b64encode(text))), Scalar("s32", 250)]


def big_numbers(seed):
    words = integers("u32", 8 * 32, seed)
    return words, [sum(words[8 * t + k] << 32 * k for k in range(8)) for t in range(32)]


@launch("big_integer", "multiplyBig")
def big_multiply():
    (a, x), (b, y) = big_numbers(23), big_numbers(24)
    return [Buffer("a", "u32", a), Buffer("b", "u32", b),
            Buffer("out", "u32", expected=[p * q >> 32 * k & 0xFFFFFFFF for p, q in zip(x, y) for k in range(16)])]


@launch("big_integer", "addBig")
def big_add():
    (a, x), (b, y) = big_numbers(25), big_numbers(26)
    return [Buffer("a", "u32", a), Buffer("b", "u32", b),
            Buffer("out", "u32", expected=[p + q >> 32 * k & 0xFFFFFFFF for p, q in zip(x, y) for k in range(9)])]


@launch("memory_barrier", "phases", block=64)
def barrier_phases():
    a = integers("s32", 128, 27)
    return [Buffer("in", "s32", a), Buffer("out", "s32", expected=a[63::-1] + a[127:63:-1])]


def ackermann(m, n):
    return n + 1 if m == 0 else 2 + n if m == 1 else 2 * n + 3


@launch("recursive_calls", "ackermanns", block=32)
def recursive_ackermanns():
    out = [ackermann(i % 3, i // 3) * 1000 + (ackermann(2, i % 5) if i & 1 else 0) for i in range(32)]
    return [Buffer("out", "u32", expected=out)]


@launch("recursive_calls", "quicksorts", block=32)
def recursive_quicksorts():
    values = integers("s32", 16 * 32, 28)
    out = []
    for i in range(32):
        out += sorted(values[16 * i:16 * i + 16], reverse=i % 3 == 0)
    return [Buffer("values", "s32", values, expected=out), Buffer("depths", "f64", expected=[1.0] * 32)]


@launch("recursive_calls", "expressions", block=32)
def virtual_expressions():
    picks = [abs(p) % 6 for p in integers("s32", 32, 29)]
    nodes = [lambda x: 3, lambda x: x, lambda x: x + 3, lambda x: (x + 3) ** 2, lambda x: 1000000007 * (x + 3) ** 2,
             lambda x: 1000000007 * (x + 3) ** 2 + x]
    return [Buffer("picks", "s32", picks), Buffer("out", "s64", expected=[nodes[p](i) for i, p in enumerate(picks)])]

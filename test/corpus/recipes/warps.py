"""Operations of a warp, barriers of a block, atomics."""
import functools
import operator

from recipes.data import Buffer, Scalar, Variable, integers, launch, reals, s32, u32, u64
from recipes.integers import flat


@launch("shuffle", "shuffles")
def shuffles():
    a, out = integers("s32", 32, 1), []
    for t in range(32):
        distance = a[0] & 31
        segment = t & ~15
        source = t ^ distance
        wide = (a[t + 4] if t + 4 < 32 else a[t]) << 20
        out += [a[3], a[t * 7 & 31], a[t - 2] if t >= 2 else a[t], a[t + 1] if t % 8 < 7 else a[t], a[t ^ 16],
                # A butterfly may not look at a later segment.
                a[source] if source < segment + 16 else a[t], s32(wide >> 13)]
    return [Buffer("a", "s32", a), Buffer("out", "s32", expected=out)]


@launch("shuffle", "warpScan", about="Eighths, so that sums are exact.")
def warp_scan():
    a = [k / 8 for k in integers("s32", 32, 2, -100, 100)]
    return [Buffer("a", "f32", a), Buffer("out", "f32", expected=[sum(a[:t + 1]) for t in range(32)])]


@launch("vote_match", "votes")
def votes():
    a, out = integers("s32", 32, 3, 0, 15), []
    for t in range(32):
        out += [sum((x > 5) << k for k, x in enumerate(a)), 7 in a, 1, all(x & 1 == a[0] & 1 for x in a),
                sum((x & 3 == a[t] & 3) << k for k, x in enumerate(a)), 2 ** 32 - 1 + 1 & 0xFFFFFFFF]
    return [Buffer("a", "s32", a), Buffer("out", "u32", expected=[int(v) for v in out])]


@launch("vote_match", "activeLanes")
def active_lanes():
    a = integers("s32", 32, 4, 0, 100)
    return [Buffer("a", "s32", a), Buffer("out", "u32", expected=[x & 1 for x in a])]


@launch("masked_votes", "groups", folder="handwritten")
def masked_votes():
    a, out = integers("s32", 32, 21, 0, 3), []
    for t in range(32):
        group = range(t & ~3, (t & ~3) + 4)
        odd = [k for k in group if a[k] & 1]
        alike = [k for k in group if a[k] & 1 == a[t] & 1]
        out += [a[t ^ 1], sum(1 << k for k in odd), len(odd) == 4, len(odd) < 4, len(odd) in (0, 4), sum(1 << k for k in alike)]
    return [Buffer("a", "s32", a), Buffer("out", "u32", expected=[int(v) for v in out])]


@launch("redux", "reduxAll")
def redux():
    a = integers("s32", 32, 5)
    u = [u32(x) for x in a]
    row = [s32(sum(a)), min(a), max(a), s32(min(u)), s32(max(u))] + [
        s32(functools.reduce(way, u)) for way in (operator.and_, operator.or_, operator.xor)]
    return [Buffer("a", "s32", a), Buffer("out", "s32", expected=row * 32)]


@launch("cooperative_groups", "tileSums", block=64)
def tile_sums():
    a = integers("s32", 64, 6)
    return [Buffer("in", "s32", a), Buffer("out", "s32", expected=[s32(sum(a[8 * k:8 * k + 8])) for k in range(8)])]


@launch("barriers", "barrierReductions", block=96)
def barrier_reductions():
    a = integers("s32", 96, 7, -50, 90)
    row = [sum(x > 10 for x in a), 1, int(77 in a)]
    # The last column is the parity of the third one of the next row.
    out = flat(row + [row[2] & 1] for _ in range(96))
    return [Buffer("a", "s32", a), Buffer("out", "s32", init=0, count=384, expected=[v for v in out])]


@launch("barriers", "namedBarriers", block=96)
def named_barriers():
    a = integers("s32", 96, 8)
    first = [a[63 - t] for t in range(64)]
    second = [s32(first[t] + 1) for t in range(32)]
    return [Buffer("a", "s32", a), Buffer("out", "s32", init=5, count=128, expected=first + [5] * 32 + second)]


@launch("barriers", "warpBarrier")
def warp_barrier():
    a = integers("s32", 32, 9)
    return [Buffer("a", "s32", a), Buffer("out", "s32", expected=[a[(t + 1 & 31) ^ 1] for t in range(32)])]


@launch("block_reduce", "blockSum", grid=2, block=96, about="Small integers, so that sums are exact in any order.")
def block_sum():
    n, values = 500, [float(v) for v in integers("s32", 500, 10, -99, 99)]
    blocks = [sum(v for i, v in enumerate(values) if i // 96 % 2 == b) for b in range(2)]
    return [Buffer("in", "f32", values), Buffer("out", "f32", expected=blocks), Scalar("s32", n)]


@launch("atomics_global_32", "atomics32", block=32)
def atomics32():
    cells, unsigned = integers("s32", 256, 1), integers("u32", 192, 2, 0, 300)
    floats = reals(32, 3, bits=20)
    out, after, after_u = [], [], []
    for t in range(32):
        c, u = cells[8 * t:8 * t + 8], unsigned[6 * t:6 * t + 6]
        if t % 3 == 0:
            u[4] = unsigned[6 * t + 4] = 0
        if t % 4 == 0:
            u[1] = unsigned[6 * t + 1] = t % 8
        out += c + u[:5] + [int(floats[t]), 77, 77]
        after += [s32(c[0] + t), s32(c[1] - 3), min(c[2], -t), max(c[3], t), c[4] & 0xF0F0, c[5] | t, c[6] ^ 0x5555, t * 2]
        after_u += [0 if u[0] >= 17 else u[0] + 1, 17 if u[1] == 0 or u[1] > 17 else u[1] - 1, min(u[2], 100),
                    max(u[3], 100), t if u[4] == 0 else u[4], u[5]]
    return [Buffer("cells", "s32", cells, expected=after), Buffer("unsignedCells", "u32", unsigned, expected=after_u),
            Buffer("floatCells", "f32", floats, expected=[v + 1.5 for v in floats]),
            Buffer("out", "s32", init=77, expected=out)]


@launch("atomics_global_32", "sumByCas", block=64, about="Whole numbers: the sum is exact in any order.")
def sum_by_cas():
    values = [float(v) for v in integers("s32", 64, 4, -1000, 1000)]
    return [Buffer("in", "f32", values), Buffer("total", "f32", init=[0.5], expected=[0.5 + sum(values)])]


@launch("atomics_global_64", "atomics64", block=32)
def atomics64():
    cells, signed, doubles = integers("u64", 256, 5), integers("s64", 64, 6), reals(32, 7, bits=40)
    out, after, after_s = [], [], []
    for t in range(32):
        if t % 2 == 0:
            cells[8 * t + 7] = 0
        c, s, x = cells[8 * t:8 * t + 8], signed[2 * t:2 * t + 2], 0x100000001 * (t + 1)
        out += c + [u64(s[0]), u64(s[1]), int(doubles[t]) % 2 ** 64, 9]
        after += [u64(c[0] + x), min(c[1], x), max(c[2], x), c[3] & x, c[4] | x, c[5] ^ x, x, x if c[7] == 0 else c[7]]
        after_s += [min(s[0], -x), max(s[1], x)]
    positive = [abs(d) for d in doubles]
    out = [abs(int(doubles[i // 12])) if i % 12 == 10 else v for i, v in enumerate(out)]
    return [Buffer("cells", "u64", cells, expected=after), Buffer("signedCells", "s64", signed, expected=after_s),
            Buffer("doubles", "f64", positive, expected=[d + 2.5 for d in positive]),
            Buffer("out", "u64", init=9, expected=out)]


@launch("atomics_shared", "sharedAtomics", block=96)
def atomics_shared():
    # Bin 9 and 12 start as zero or stay as they are: only bins below 16 are cleared, all of which these are.
    a = integers("s32", 96, 8)
    bins = [sum(x & 7 == k for x in a) for k in range(8)]
    bins += [max([0] + a), min([0] + a), -1, functools.reduce(operator.xor, a), 0]
    return [Buffer("in", "s32", a), Buffer("out", "s32", init=3, count=112,
                                           expected=bins + [s32(sum(a)), 3, 3] + [1] * 96),
            Buffer("outD", "f64", expected=[24.0, 48.0])]


@launch("atomic_scopes", "scopes")
def atomic_scopes():
    a = [v if k % 4 != 2 or k % 8 else 0 for k, v in enumerate(integers("s32", 128, 9))]
    after = []
    for t in range(32):
        c = a[4 * t:4 * t + 4]
        after += [s32(c[0] + 1), s32(c[1] + 2), t if c[2] == 0 else c[2], s32(c[3] + t)]
    return [Buffer("a", "s32", a, expected=after), Buffer("out", "s32", expected=a)]


@launch("reductions_memory", "reductions", block=48)
def reductions_memory():
    a, u, w = [5, 3, 7, -1, 0x10000, 0x5555], [10, 990, 20, 5], [1, 2, 4]
    threads = range(48)
    increments = 990
    for _ in threads:
        increments = 0 if increments >= 1000 else increments + 1
    decrements = 20
    for _ in threads:
        decrements = 1000 if decrements == 0 or decrements > 1000 else decrements - 1
    after = [5 + sum(threads), 0, 47, functools.reduce(lambda x, t: x & (t | 0xFF00), threads, -1),
             functools.reduce(operator.or_, threads, 0x10000), functools.reduce(operator.xor, threads, 0x5555)]
    return [Buffer("a", "s32", a, expected=after), Buffer("u", "u32", u, expected=[58, increments, decrements, 47]),
            Buffer("w", "u64", w, expected=[1 + (48 << 33), 47 << 20, 2 ** 48 - 1 | 4]),
            Buffer("f", "f32", [0.5], expected=[48.5]), Buffer("d", "f64", [0.25], expected=[48.25])]


@launch("reductions_memory", "redForms")
def reductions_forms():
    return [Buffer("a", "s32", init="i", count=11, expected=[0, 1, 2, 3, 4, 5, 6, 7, 8 + 32 * 37, 37, 10 | 37]),
            Scalar("s32", 37)]

"""What depends on the order of elements: scans, sorts, gathers, histograms, top k, recurrences."""
import triton
import triton.language as tl
from case import Case


@triton.jit
def prefix_sum(x, y, n, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=0)
    tl.store(y + at, tl.cumsum(v, 0, reverse=REVERSE), at < n)


@triton.jit
def prefix_product_rows(x, y, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * columns + tl.arange(0, COLUMNS)[None, :]
    v = tl.load(x + at)
    tl.store(y + at, tl.cumprod(v, 1))


@triton.jit
def compose(decay1, value1, decay2, value2):
    return decay1 * decay2, value1 * decay2 + value2


@triton.jit
def linear_recurrence(decays, values, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d, v = tl.load(decays + at, at < n, other=1.0), tl.load(values + at, at < n, other=0.0)
    _, state = tl.associative_scan((d, v), 0, compose)
    tl.store(out + at, state, at < n)


@triton.jit
def latest(value1, set1, value2, set2):
    return tl.where(set2, value2, value1), set1 | set2


@triton.jit
def fill_forward(x, known, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v, _ = tl.associative_scan((tl.load(x + at), tl.load(known + at) != 0), 0, latest)
    tl.store(y + at, v)


@triton.jit
def scan_with_lookback(x, y, sums, flags, n, BLOCK: tl.constexpr):
    """One pass: a block waits for the sum of those before it."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=0)
    scanned = tl.cumsum(v, 0)
    before = tl.full((), 0, v.dtype)
    if block > 0:
        while tl.atomic_add(flags + block - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(sums + block - 1, volatile=True)
    tl.store(sums + block, before + tl.sum(v, 0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + block, 1, sem="release")
    tl.store(y + at, scanned + before, at < n)


@triton.jit
def sort_rows(x, y, columns, COLUMNS: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, COLUMNS)
    tl.store(y + at, tl.sort(tl.load(x + at), descending=DESCENDING))


@triton.jit
def top_k(x, y, columns, COLUMNS: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, COLUMNS)
    v = tl.load(x + row * columns + at, at < columns, other=-float("inf"))
    tl.store(y + row * K + tl.arange(0, K), tl.topk(v, K))


@triton.jit
def gather_rows(table, indices, out, COLUMNS: tl.constexpr, ROWS: tl.constexpr, PICKED: tl.constexpr):
    """tl.gather: through shared memory, or by shuffles where a warp has a column."""
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    k = tl.arange(0, PICKED)
    values = tl.load(table + i[:, None] * COLUMNS + j[None, :])
    picked = tl.load(indices + k[:, None] * COLUMNS + j[None, :])
    tl.store(out + k[:, None] * COLUMNS + j[None, :], tl.gather(values, picked, 0))


@triton.jit
def embedding(table, tokens, out, columns, BLOCK: tl.constexpr):
    place = tl.program_id(0)
    token = tl.load(tokens + place)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    tl.store(out + place * columns + at, tl.load(table + token * columns + at, inside & (token >= 0), other=0.0), inside)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, at < n, other=0), BINS, at < n)
    tl.atomic_add(bins + tl.arange(0, BINS), counts)


@triton.jit
def flip_and_join(x, y, z, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    both = tl.join(v, tl.flip(v, 0))
    low, high = tl.split(both)
    tl.store(y + tl.arange(0, BLOCK)[:, None] * 2 + tl.arange(0, 2)[None, :], both)
    tl.store(z + at, low - high)


@triton.jit
def permute(x, y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    v = tl.reshape(tl.load(x + tl.arange(0, A * B * C)), (A, B, C))
    tl.store(y + tl.arange(0, A * B * C), tl.reshape(tl.permute(v, (2, 0, 1)), (A * B * C,)))


CASES = [
    Case("prefix_sum_fp32", prefix_sum, "*fp32 *fp32 i32", {"BLOCK": 1024, "REVERSE": False}),
    Case("prefix_sum_int64_reverse", prefix_sum, "*i64 *i64 i32", {"BLOCK": 512, "REVERSE": True}),
    Case("prefix_product_rows", prefix_product_rows, "*fp32 *fp32 i32", {"ROWS": 16, "COLUMNS": 64}, warps=2),
    Case("linear_recurrence", linear_recurrence, "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}),
    Case("fill_forward", fill_forward, "*i32 *i8 *i32", {"BLOCK": 512}),
    Case("scan_with_lookback", scan_with_lookback, "*i32 *i32 *i32 *i32 i32", {"BLOCK": 512}),
    Case("sort_256", sort_rows, "*fp32 *fp32 i32", {"COLUMNS": 256, "DESCENDING": False}),
    Case("sort_int32_128_descending", sort_rows, "*i32 *i32 i32", {"COLUMNS": 128, "DESCENDING": True}),
    Case("sort_fp16_32", sort_rows, "*fp16 *fp16 i32", {"COLUMNS": 32, "DESCENDING": False}, warps=1),
    Case("top_k", top_k, "*fp32 *fp32 i32", {"COLUMNS": 512, "K": 8}),
    Case("gather_shared", gather_rows, "*fp32 *i32 *fp32", {"COLUMNS": 64, "ROWS": 128, "PICKED": 32}),
    Case("gather_warp", gather_rows, "*fp32 *i32 *fp32", {"COLUMNS": 4, "ROWS": 32, "PICKED": 32}, warps=1),
    Case("gather_large", gather_rows, "*fp16 *i64 *fp16", {"COLUMNS": 128, "ROWS": 64, "PICKED": 64}, warps=8),
    Case("embedding", embedding, "*fp16 *i64 *fp16 i32:16", {"BLOCK": 1024}),
    Case("histogram_64", histogram, "*i32 *i32 i32", {"BLOCK": 1024, "BINS": 64}),
    Case("histogram_1024", histogram, "*i32 *i32 i32", {"BLOCK": 2048, "BINS": 1024}, warps=8),
    Case("flip_and_join", flip_and_join, "*fp32 *fp32 *fp32", {"BLOCK": 256}),
    Case("permute", permute, "*fp32 *fp32", {"A": 8, "B": 16, "C": 16}),
]

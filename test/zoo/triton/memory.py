"""Atomics, locks, cache modifiers, jagged and paged data, quantisation, convolution by hand."""
import triton
import triton.language as tl
from case import ADA, AMPERE, Case


@triton.jit
def atomic_sums(x, keys, sums, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(sums + tl.load(keys + at, inside, other=0), tl.load(x + at, inside, other=0), inside, sem="relaxed")


@triton.jit
def atomic_kinds(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, inside, other=0)
    tl.atomic_max(out + at % 32, v, inside)
    tl.atomic_min(out + 32 + at % 32, v, inside, scope="cta")
    tl.atomic_and(out + 64 + at % 32, v, inside, sem="acq_rel")
    tl.atomic_or(out + 96 + at % 32, v, inside, scope="sys")
    tl.atomic_xor(out + 128 + at % 32, v, inside)
    before = tl.atomic_xchg(out + 160 + at, v, inside)
    tl.store(x + at, before, inside)


@triton.jit
def atomic_max_float(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(out + at % 16, tl.load(x + at, at < n, other=0.0), at < n)


@triton.jit
def reserve_and_write(x, out, counter, n, BLOCK: tl.constexpr):
    """A compaction: each program reserves room for what it keeps."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=0.0)
    kept = (v > 0).to(tl.int32)
    place = tl.atomic_add(counter, tl.sum(kept, 0)) + tl.cumsum(kept, 0) - 1
    tl.store(out + place, v, kept != 0)


@triton.jit
def accumulate_under_lock(x, total, lock, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, at < n, other=0.0), 0)
    while tl.atomic_cas(lock, 0, 1, sem="acquire") != 0:
        pass
    tl.store(total, tl.load(total, volatile=True) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


@triton.jit
def copy_with_hints(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, eviction_policy="evict_first")
    w = tl.load(x + at + n, at < n, cache_modifier=".ca")
    tl.store(y + at, v, at < n, cache_modifier=".cs")
    tl.store(y + at + n, w, at < n, cache_modifier=".wt")


@triton.jit
def copy_loop(x, y, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for first in tl.range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK, num_stages=STAGES):
        at = first + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at, at < n) * 2, at < n)


@triton.jit
def jagged_mean(values, offsets, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first, last = tl.load(offsets + row), tl.load(offsets + row + 1)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(first, last):
        total += tl.load(values + i * columns + j, j < columns, other=0.0)
    tl.store(out + row * columns + j, total / (last - first), j < columns)


@triton.jit
def quantise_rows(x, y, scales, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, at < columns, other=0.0).to(tl.float32)
    largest = tl.maximum(tl.max(tl.abs(v), 0), 1e-10)
    limit = 448.0 if y.dtype.element_ty == tl.float8e4nv else 127.0
    tl.store(scales + row, largest / limit)
    scaled = v * (limit / largest)
    tl.store(y + row * columns + at, scaled.to(y.dtype.element_ty), at < columns)


@triton.jit
def convolve_rows(x, taps, y, width, BLOCK: tl.constexpr, TAPS: tl.constexpr):
    base = tl.program_id(0) * width
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.static_range(TAPS):
        place = at + k - TAPS // 2
        total += tl.load(taps + k) * tl.load(x + base + place, (place >= 0) & (place < width), other=0.0)
    tl.store(y + base + at, total, at < width)


@triton.jit
def max_pool(x, y, height, width, BLOCK: tl.constexpr):
    plane, row = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, BLOCK)
    inside = at < width // 2
    base = x + (plane * height + row * 2) * width + at * 2
    top = tl.maximum(tl.load(base, inside), tl.load(base + 1, inside))
    low = tl.maximum(tl.load(base + width, inside), tl.load(base + width + 1, inside))
    tl.store(y + (plane * (height // 2) + row) * (width // 2) + at, tl.maximum(top, low), inside)


@triton.jit
def checked_division(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=1)
    tl.device_assert(v != 0, "division by nothing", mask=at < n)
    tl.store(y + at, 1000 // v, at < n)


@triton.jit
def print_first(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.device_print("x", tl.load(x + at, at < n, other=0))


@triton.jit
def collatz(x, steps, n, BLOCK: tl.constexpr):
    """A loop whose end all elements of a block decide together."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=1)
    count = tl.zeros([BLOCK], tl.int32)
    while tl.max((v > 1).to(tl.int32), 0) != 0:
        count += (v > 1).to(tl.int32)
        v = tl.where(v > 1, tl.where(v % 2 == 0, v // 2, 3 * v + 1), v)
    tl.store(steps + at, count, at < n)


CASES = [
    Case("atomic_sums_fp32", atomic_sums, "*fp32 *i32 *fp32 i32", {"BLOCK": 512}),
    Case("atomic_sums_fp16", atomic_sums, "*fp16 *i32 *fp16 i32", {"BLOCK": 512}),
    Case("atomic_sums_bf16", atomic_sums, "*bf16 *i32 *bf16 i32", {"BLOCK": 512}, targets=(90,)),
    Case("atomic_sums_int64", atomic_sums, "*i64 *i64 *i64 i32", {"BLOCK": 256}),
    Case("atomic_kinds", atomic_kinds, "*i32 *i32 i32", {"BLOCK": 256}),
    Case("atomic_kinds_64", atomic_kinds, "*i64 *i64 i32", {"BLOCK": 256}),
    Case("atomic_max_float", atomic_max_float, "*fp32 *fp32 i32", {"BLOCK": 256}),
    Case("reserve_and_write", reserve_and_write, "*fp32 *fp32 *i32 i32", {"BLOCK": 512}),
    Case("accumulate_under_lock", accumulate_under_lock, "*fp32 *fp32 *i32 i32", {"BLOCK": 512}),
    Case("copy_with_hints", copy_with_hints, "*fp32 *fp32 i32:16", {"BLOCK": 1024}),
    Case("copy_loop", copy_loop, "*fp32 *fp32 i32:16", {"BLOCK": 1024, "STAGES": 4}, targets=AMPERE),
    Case("jagged_mean", jagged_mean, "*fp32 *i32 *fp32 i32", {"BLOCK": 128}),
    Case("quantise_int8", quantise_rows, "*fp16 *i8 *fp32 i32:16", {"BLOCK": 1024}),
    Case("quantise_fp8", quantise_rows, "*bf16 *fp8e4nv *fp32 i32:16", {"BLOCK": 1024}, targets=ADA),
    Case("convolve_rows", convolve_rows, "*fp32 *fp32 *fp32 i32", {"BLOCK": 256, "TAPS": 7}),
    Case("max_pool", max_pool, "*fp16 *fp16 i32 i32:16", {"BLOCK": 256}),
    Case("checked_division", checked_division, "*i32 *i32 i32", {"BLOCK": 128}, options={"debug": True}),
    Case("print_first", print_first, "*i32 i32", {"BLOCK": 64}, warps=1),
    Case("collatz", collatz, "*i32 *i32 i32", {"BLOCK": 256}),
]

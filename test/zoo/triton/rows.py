"""Reductions over rows: softmax, norms forwards and backwards, losses, arg max, Welford, products."""
import triton
import triton.language as tl
from case import AMPERE, Case


@triton.jit
def softmax(x, y, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, at < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * stride + at, e / tl.sum(e, 0), at < columns)


@triton.jit
def softmax_rows(x, y, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """Persistent: one program does many rows."""
    for first in tl.range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS, num_stages=STAGES):
        row = first + tl.arange(0, ROWS)
        at = row[:, None] * columns + tl.arange(0, BLOCK)[None, :]
        inside = (row < rows)[:, None] & (tl.arange(0, BLOCK) < columns)[None, :]
        v = tl.load(x + at, inside, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 1)[:, None])
        tl.store(y + at, e / tl.sum(e, 1)[:, None], inside)


@triton.jit
def softmax_online(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    most, total = -float("inf"), 0.0
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + at, at < columns, other=-float("inf"))
        larger = tl.maximum(most, tl.max(v, 0))
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(v - larger), 0)
        most = larger
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + at, at < columns)
        tl.store(y + row * columns + at, tl.exp(v - most) / total, at < columns)


@triton.jit
def softmax_backward(y, dy, dx, columns, BLOCK: tl.constexpr):
    base = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    p, d = tl.load(y + base + at, inside, other=0.0), tl.load(dy + base + at, inside, other=0.0)
    tl.store(dx + base + at, p * (d - tl.sum(p * d, 0)), inside)


@triton.jit
def layer_norm(x, y, weight, bias, means, scales, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + at, at < columns, other=0.0).to(tl.float32)
        off = tl.where(at < columns, v - mean, 0.0)
        squares += off * off
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < columns
        v = tl.load(x + row * columns + at, inside, other=0.0).to(tl.float32)
        tl.store(y + row * columns + at, (v - mean) * scale * tl.load(weight + at, inside) + tl.load(bias + at, inside), inside)


@triton.jit
def layer_norm_backward(dx, dy, dweight, dbias, x, weight, means, scales, locks, columns, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Partial sums of the weights' gradients under a lock for each group of rows."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(x + row * columns + at, inside, other=0).to(tl.float32)
    d = tl.load(dy + row * columns + at, inside, other=0).to(tl.float32)
    w = tl.load(weight + at, inside).to(tl.float32)
    mean, scale = tl.load(means + row), tl.load(scales + row)
    normal = tl.where(inside, (v - mean) * scale, 0.0)
    wd = tl.where(inside, w * d, 0.0)
    c1, c2 = tl.sum(normal * wd, 0) / columns, tl.sum(wd, 0) / columns
    tl.store(dx + row * columns + at, (wd - (normal * c1 + c2)) * scale, inside)
    lock = locks + row % GROUPS
    count = lock + GROUPS
    weight_sums, bias_sums = dweight + (row % GROUPS) * columns + at, dbias + (row % GROUPS) * columns + at
    own_weight, own_bias = (d * normal).to(w.dtype), d.to(w.dtype)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        own_weight += tl.load(weight_sums, inside)
        own_bias += tl.load(bias_sums, inside)
    tl.store(weight_sums, own_weight, inside)
    tl.store(bias_sums, own_bias, inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def sum_columns(partial, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, rows, ROWS):
        i = first + tl.arange(0, ROWS)
        total += tl.load(partial + i[:, None] * columns + j[None, :], (i < rows)[:, None] & (j < columns)[None, :], other=0.0)
    tl.store(out + j, tl.sum(total, 0), j < columns)


@triton.jit
def rms_norm(x, y, weight, columns, eps, BLOCK: tl.constexpr):
    base = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    v = tl.load(x + base + at, at < columns, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / columns + eps)
    tl.store(y + base + at, v * scale * tl.load(weight + at, at < columns), at < columns)


@triton.jit
def group_norm(x, y, weight, bias, group, pixels, eps, BLOCK: tl.constexpr):
    base = tl.program_id(0) * group * pixels
    total, squares = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK], tl.float32)
    size = group * pixels
    for first in range(0, size, BLOCK):
        at = first + tl.arange(0, BLOCK)
        v = tl.load(x + base + at, at < size, other=0.0).to(tl.float32)
        total += v
        squares += v * v
    mean = tl.sum(total) / size
    scale = tl.rsqrt(tl.sum(squares) / size - mean * mean + eps)
    for first in range(0, size, BLOCK):
        at = first + tl.arange(0, BLOCK)
        channel = at // pixels
        v = tl.load(x + base + at, at < size, other=0.0).to(tl.float32)
        r = (v - mean) * scale * tl.load(weight + channel, at < size) + tl.load(bias + channel, at < size)
        tl.store(y + base + at, r, at < size)


@triton.jit
def merge_moments(mean1, square1, count1, mean2, square2, count2):
    count = count1 + count2
    part = tl.where(count == 0.0, 0.0, count2 / count)
    difference = mean2 - mean1
    return mean1 + difference * part, square1 + square2 + difference * difference * count1 * part, count


@triton.jit
def welford(x, means, variances, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, at < columns, other=0.0).to(tl.float32)
    counts = (at < columns).to(tl.float32)
    mean, square, count = tl.reduce((v, tl.zeros_like(v), counts), 0, merge_moments)
    tl.store(means + row, mean)
    tl.store(variances + row, square / count)


@triton.jit
def cross_entropy(logits, labels, losses, gradients, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(logits + row * columns + at, inside, other=-float("inf")).to(tl.float32)
    label = tl.load(labels + row)
    v -= tl.max(v, 0)
    total = tl.sum(tl.exp(v), 0)
    tl.store(losses + row, tl.log(total) - tl.sum(tl.where(at == label, v, 0.0), 0))
    tl.store(gradients + row * columns + at, tl.exp(v) / total - (at == label), inside)


@triton.jit
def arg_max(x, values, places, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, at < columns, other=-float("inf"))
    value, place = tl.max(v, 0, return_indices=True)
    tl.store(values + row, value)
    tl.store(places + row, place)


@triton.jit
def combine_logically(a, b):
    return a ^ (b * 3)


@triton.jit
def reduce_all(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=0)
    tl.store(y, tl.sum(v))
    tl.store(y + 1, tl.max(v))
    tl.store(y + 2, tl.min(v))
    tl.store(y + 3, tl.xor_sum(v))
    tl.store(y + 4, tl.reduce(v, 0, combine_logically))


@triton.jit
def product_with_vector(a, x, y, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS], tl.float32)
    for first in range(0, columns, COLUMNS):
        j = first + tl.arange(0, COLUMNS)
        tile = tl.load(a + i[:, None] * columns + j[None, :], (i < rows)[:, None] & (j < columns)[None, :], other=0.0).to(tl.float32)
        total += tl.sum(tile * tl.load(x + j, j < columns, other=0.0)[None, :], 1)
    tl.store(y + i, total, i < rows)


CASES = [
    Case("softmax_256", softmax, "*fp32 *fp32 i32 i32", {"BLOCK": 256}, warps=1),
    Case("softmax_1024_fp16", softmax, "*fp16 *fp16 i32:16 i32", {"BLOCK": 1024}),
    Case("softmax_8192", softmax, "*fp32 *fp32 i32:16 i32", {"BLOCK": 8192}, warps=8),
    Case("softmax_rows", softmax_rows, "*fp32 *fp32 i32 i32", {"ROWS": 4, "BLOCK": 256, "STAGES": 2}),
    Case("softmax_rows_pipelined", softmax_rows, "*fp32 *fp32 i32 i32:16", {"ROWS": 1, "BLOCK": 1024, "STAGES": 4}, warps=8, targets=AMPERE),
    Case("softmax_online", softmax_online, "*fp32 *fp32 i32", {"BLOCK": 1024}),
    Case("softmax_backward", softmax_backward, "*fp32 *fp32 *fp32 i32", {"BLOCK": 512}),
    Case("layer_norm_fp32", layer_norm, "*fp32 *fp32 *fp32 *fp32 *fp32 *fp32 i32 fp32", {"BLOCK": 1024}),
    Case("layer_norm_fp16", layer_norm, "*fp16 *fp16 *fp16 *fp16 *fp32 *fp32 i32:16 fp32", {"BLOCK": 2048}, warps=8),
    Case("layer_norm_backward", layer_norm_backward, "*fp16 *fp16 *fp16 *fp16 *fp16 *fp16 *fp32 *fp32 *i32 i32", {"GROUPS": 64, "BLOCK": 1024}),
    Case("sum_columns", sum_columns, "*fp32 *fp32 i32 i32", {"ROWS": 32, "COLUMNS": 64}),
    Case("rms_norm_bf16", rms_norm, "*bf16 *bf16 *bf16 i32:16 fp32", {"BLOCK": 4096}, warps=8, targets=AMPERE),
    Case("rms_norm_fp32", rms_norm, "*fp32 *fp32 *fp32 i32 fp32", {"BLOCK": 512}, warps=2),
    Case("group_norm", group_norm, "*fp16 *fp16 *fp32 *fp32 i32 i32 fp32", {"BLOCK": 1024}),
    Case("welford", welford, "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}),
    Case("cross_entropy", cross_entropy, "*fp16 *i64 *fp32 *fp16 i32", {"BLOCK": 2048}, warps=8),
    Case("arg_max", arg_max, "*fp32 *fp32 *i32 i32", {"BLOCK": 1024}),
    Case("reduce_int32", reduce_all, "*i32 *i32 i32", {"BLOCK": 1024}),
    Case("reduce_int64", reduce_all, "*i64 *i64 i32", {"BLOCK": 512}),
    Case("product_with_vector", product_with_vector, "*fp32 *fp32 *fp32 i32 i32:16", {"ROWS": 16, "COLUMNS": 128}),
    Case("product_with_vector_fp16", product_with_vector, "*fp16 *fp16 *fp32 i32 i32:16", {"ROWS": 32, "COLUMNS": 64}, warps=2),
]

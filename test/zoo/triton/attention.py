"""Attention: forwards and backwards, decoding from pages, linear attention, a layer of a selective state space."""
import triton
import triton.language as tl
from case import ADA, ALL, AMPERE, HOPPER, Case


@triton.jit
def attention(q, k, v, out, sums, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    base = tl.program_id(1) * length * D
    i, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    inside = (i < length)[:, None]
    queries = tl.load(q + base + i[:, None] * D + d[None, :], inside, other=0.0)
    most, total = tl.full([M], -float("inf"), tl.float32), tl.zeros([M], tl.float32)
    result = tl.zeros([M, D], tl.float32)
    last = tl.minimum((tl.program_id(0) + 1) * M, length) if CAUSAL else length
    for first in range(0, last, N):
        j = first + tl.arange(0, N)
        keys = tl.load(k + base + j[None, :] * D + d[:, None], (j < length)[None, :], other=0.0)
        scores = tl.dot(queries, keys) * (scale * 1.44269504)
        allowed = (j < length)[None, :]
        if CAUSAL:
            allowed = allowed & (i[:, None] >= j[None, :])
        scores = tl.where(allowed, scores, -1e30)
        larger = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp2(scores - larger[:, None])
        shrink = tl.exp2(most - larger)
        total = total * shrink + tl.sum(p, 1)
        values = tl.load(v + base + j[:, None] * D + d[None, :], (j < length)[:, None], other=0.0)
        result = tl.dot(p.to(values.dtype), values, result * shrink[:, None])
        most = larger
    tl.store(out + base + i[:, None] * D + d[None, :], (result / total[:, None]).to(out.dtype.element_ty), inside)
    tl.store(sums + tl.program_id(1) * length + i, most + tl.log2(total), i < length)


@triton.jit
def attention_products(out, dout, products, length, M: tl.constexpr, D: tl.constexpr):
    i, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    at = tl.program_id(1) * length * D + i[:, None] * D + d[None, :]
    o, g = tl.load(out + at).to(tl.float32), tl.load(dout + at).to(tl.float32)
    tl.store(products + tl.program_id(1) * length + i, tl.sum(o * g, 1))


@triton.jit
def attention_backward_keys(q, k, v, dout, sums, products, dk, dv, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    base, rows = tl.program_id(1) * length * D, tl.program_id(1) * length
    j, d = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, D)
    keys, values = tl.load(k + base + j[:, None] * D + d[None, :]), tl.load(v + base + j[:, None] * D + d[None, :])
    dkeys, dvalues = tl.zeros([N, D], tl.float32), tl.zeros([N, D], tl.float32)
    for first in range(tl.program_id(0) * N, length, M):
        i = first + tl.arange(0, M)
        queries = tl.load(q + base + i[:, None] * D + d[None, :])
        p = tl.exp2(tl.dot(keys, tl.trans(queries)) * (scale * 1.44269504) - tl.load(sums + rows + i)[None, :])
        p = tl.where(i[None, :] >= j[:, None], p, 0.0)
        gradient = tl.load(dout + base + i[:, None] * D + d[None, :])
        dvalues += tl.dot(p.to(gradient.dtype), gradient)
        ds = p * (tl.dot(values, tl.trans(gradient)) - tl.load(products + rows + i)[None, :])
        dkeys += tl.dot(ds.to(queries.dtype), queries)
    tl.store(dk + base + j[:, None] * D + d[None, :], (dkeys * scale).to(dk.dtype.element_ty))
    tl.store(dv + base + j[:, None] * D + d[None, :], dvalues.to(dv.dtype.element_ty))


@triton.jit
def decode_from_pages(q, k_pages, v_pages, table, lengths, out, scale, pages, PAGE: tl.constexpr, D: tl.constexpr, GROUP: tl.constexpr):
    """One query for each sequence and group of heads; keys and values lie in pages."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    d, g = tl.arange(0, D), tl.arange(0, GROUP)
    queries = tl.load(q + ((sequence * tl.num_programs(1) + head) * GROUP + g[:, None]) * D + d[None, :])
    length = tl.load(lengths + sequence)
    most, total, result = tl.full([GROUP], -1e30, tl.float32), tl.zeros([GROUP], tl.float32), tl.zeros([GROUP, D], tl.float32)
    for n in range(0, tl.cdiv(length, PAGE)):
        page = tl.load(table + sequence * pages + n).to(tl.int64)
        j = tl.arange(0, PAGE)
        at = (page * PAGE + j) * tl.num_programs(1) + head
        inside = n * PAGE + j < length
        keys = tl.load(k_pages + at[None, :] * D + d[:, None], inside[None, :], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(queries, keys) * scale, -1e30)
        larger = tl.maximum(most, tl.max(scores, 1))
        p, shrink = tl.exp(scores - larger[:, None]), tl.exp(most - larger)
        values = tl.load(v_pages + at[:, None] * D + d[None, :], inside[:, None], other=0.0)
        result = result * shrink[:, None] + tl.dot(p.to(values.dtype), values)
        total, most = total * shrink + tl.sum(p, 1), larger
    tl.store(out + ((sequence * tl.num_programs(1) + head) * GROUP + g[:, None]) * D + d[None, :], result / total[:, None])


@triton.jit
def merge_parts(parts, sums, out, COUNT: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0)
    d, n = tl.arange(0, D), tl.arange(0, COUNT)
    s = tl.load(sums + row * COUNT + n)
    w = tl.exp2(s - tl.max(s, 0))
    values = tl.load(parts + (row * COUNT + n[:, None]) * D + d[None, :])
    tl.store(out + row * D + d, tl.sum(values * (w / tl.sum(w, 0))[:, None], 0))


@triton.jit
def linear_attention(q, k, v, out, length, decay, C: tl.constexpr, D: tl.constexpr):
    """Chunks of a sequence with a state that decays."""
    base = tl.program_id(0) * length * D
    i, d = tl.arange(0, C), tl.arange(0, D)
    state = tl.zeros([D, D], tl.float32)
    gap = i[:, None] - i[None, :]
    weights = tl.where(gap >= 0, tl.exp2(gap * decay), 0.0)
    for first in range(0, length, C):
        at = base + (first + i)[:, None] * D + d[None, :]
        queries, keys, values = tl.load(q + at), tl.load(k + at), tl.load(v + at)
        scores = tl.dot(queries, tl.trans(keys)) * weights
        result = tl.dot(scores.to(values.dtype), values)
        result += tl.dot(queries, state.to(queries.dtype)) * tl.exp2((i + 1) * decay)[:, None]
        state = state * tl.exp2(C * decay) + tl.dot(tl.trans((keys * tl.exp2((C - 1 - i) * decay)[:, None]).to(values.dtype)), values)
        tl.store(out + at, result.to(out.dtype.element_ty))


@triton.jit
def selective_scan(x, delta, a, b, c, y, length, channels, CHANNELS: tl.constexpr, STATES: tl.constexpr):
    j, s = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS), tl.arange(0, STATES)
    decay = -tl.exp(tl.load(a + j[:, None] * STATES + s[None, :]))
    state = tl.zeros([CHANNELS, STATES], tl.float32)
    for t in range(length):
        step = tl.load(delta + t * channels + j)
        step = tl.where(step > 20.0, step, tl.log(1.0 + tl.exp(step)))
        value = tl.load(x + t * channels + j)
        state = state * tl.exp(step[:, None] * decay) + (step * value)[:, None] * tl.load(b + t * STATES + s)[None, :]
        tl.store(y + t * channels + j, tl.sum(state * tl.load(c + t * STATES + s)[None, :], 1))


@triton.jit
def mixture_of_experts(a, b, c, tokens, experts, weights, count, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Rows of tokens sorted by their expert, each block with the weights of one expert."""
    block = tl.program_id(0)
    place = block * M + tl.arange(0, M)
    token = tl.load(tokens + place)
    expert = tl.load(experts + block).to(tl.int64)
    j = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        at = first + tl.arange(0, K)
        left = tl.load(a + token[:, None] // 2 * k + at[None, :], (token < count)[:, None], other=0.0)
        right = tl.load(b + expert * n * k + j[None, :] * k + at[:, None])
        total = tl.dot(left, right, total)
    total *= tl.load(weights + token, token < count, other=0)[:, None]
    tl.store(c + token[:, None] * n + j[None, :], total.to(c.dtype.element_ty), (token < count)[:, None])


def attend(name, kind, m, n, d, causal, warps, stages, targets=ALL):
    return Case(f"attention_{name}_{m}x{n}x{d}", attention, f"*{kind} *{kind} *{kind} *{kind} *fp32 i32 fp32",
                {"M": m, "N": n, "D": d, "CAUSAL": causal}, warps, stages, targets)


BACKWARD = "*{0} *{0} *{0} *{0} *fp32 *fp32 *{0} *{0} i32 fp32"
CASES = [
    attend("fp16", "fp16", 64, 64, 64, False, 4, 2),
    attend("causal_fp16", "fp16", 128, 64, 64, True, 4, 3),
    attend("causal_bf16", "bf16", 128, 128, 128, True, 8, 2, HOPPER),
    attend("causal_bf16", "bf16", 64, 32, 128, True, 4, 3, AMPERE),
    attend("fp32", "fp32", 32, 32, 32, False, 4, 1),
    attend("small_fp16", "fp16", 16, 16, 16, True, 1, 1, AMPERE),
    Case("attention_products", attention_products, "*fp16 *fp16 *fp32 i32", {"M": 64, "D": 64}),
    Case("attention_backward_fp16", attention_backward_keys, BACKWARD.format("fp16"), {"M": 32, "N": 64, "D": 64}, 4, 2),
    Case("attention_backward_bf16", attention_backward_keys, BACKWARD.format("bf16"), {"M": 64, "N": 128, "D": 128}, 8, 2, HOPPER),
    Case("decode_from_pages", decode_from_pages, "*fp16 *fp16 *fp16 *i32 *i32 *fp32 fp32 i32", {"PAGE": 16, "D": 64, "GROUP": 16}, 4, 2),
    Case("merge_parts", merge_parts, "*fp32 *fp32 *fp32", {"COUNT": 8, "D": 128}),
    Case("linear_attention", linear_attention, "*bf16 *bf16 *bf16 *bf16 i32 fp32", {"C": 32, "D": 64}, 4, 2, AMPERE),
    Case("selective_scan", selective_scan, "*fp32 *fp32 *fp32 *fp32 *fp32 *fp32 i32 i32:16", {"CHANNELS": 64, "STATES": 16}, 4, 2),
    Case("mixture_of_experts", mixture_of_experts, "*fp16 *fp16 *fp16 *i32 *i32 *fp32 i32 i32:16 i32:16", {"M": 32, "N": 64, "K": 64}, 4, 3, AMPERE),
]

"""Products of matrices: precisions, tiles, stages, warps, persistent programs, scaled operands, epilogues, split K."""
import triton
import triton.language as tl
from case import ADA, ALL, AMPERE, HOPPER, Case


@triton.jit
def matmul(a, b, c, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
           GROUP: tl.constexpr, PRECISION: tl.constexpr, ACTIVATION: tl.constexpr):
    program = tl.program_id(0)
    rows, columns = tl.cdiv(m, M), tl.cdiv(n, N)
    first = program // (GROUP * columns) * GROUP
    height = tl.minimum(rows - first, GROUP)
    row, column = first + program % (GROUP * columns) % height, program % (GROUP * columns) // height
    i, j = (row * M + tl.arange(0, M)) % m, (column * N + tl.arange(0, N)) % n
    at = tl.arange(0, K)
    a_at = a + i[:, None] * stride_am + at[None, :] * stride_ak
    b_at = b + at[:, None] * stride_bk + j[None, :] * stride_bn
    WHOLE: tl.constexpr = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    total = tl.zeros((M, N), dtype=WHOLE)
    for step in range(0, tl.cdiv(k, K)):
        left = tl.load(a_at, at[None, :] < k - step * K, other=0.0)
        right = tl.load(b_at, at[:, None] < k - step * K, other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
        a_at += K * stride_ak
        b_at += K * stride_bk
    if ACTIVATION == "leaky":
        total = tl.where(total >= 0, total, 0.01 * total)
    elif ACTIVATION == "gelu":
        total = 0.5 * total * (1.0 + tl.erf(total * 0.70710678))
    i, j = row * M + tl.arange(0, M), column * N + tl.arange(0, N)
    tl.store(c + i[:, None] * stride_cm + j[None, :], total.to(c.dtype.element_ty), (i < m)[:, None] & (j < n)[None, :])


@triton.jit
def matmul_persistent(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr):
    columns = tl.cdiv(n, N)
    tiles = tl.cdiv(m, M) * columns
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=FLATTEN):
        i, j = tile // columns * M + tl.arange(0, M), tile % columns * N + tl.arange(0, N)
        total = tl.zeros((M, N), dtype=tl.float32)
        for step in range(0, tl.cdiv(k, K)):
            at = step * K + tl.arange(0, K)
            left = tl.load(a + i[:, None] * k + at[None, :], (i < m)[:, None] & (at < k)[None, :], other=0.0)
            right = tl.load(b + at[:, None] * n + j[None, :], (at < k)[:, None] & (j < n)[None, :], other=0.0)
            total = tl.dot(left, right, total)
        tl.store(c + i[:, None] * n + j[None, :], total.to(c.dtype.element_ty), (i < m)[:, None] & (j < n)[None, :])


@triton.jit
def matmul_split(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPLIT: tl.constexpr):
    i, j = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(tl.program_id(2), tl.cdiv(k, K), SPLIT):
        at = step * K + tl.arange(0, K)
        left = tl.load(a + i[:, None] * k + at[None, :], (at < k)[None, :], other=0.0)
        right = tl.load(b + at[:, None] * n + j[None, :], (at < k)[:, None], other=0.0)
        total += tl.dot(left, right)
    tl.atomic_add(c + i[:, None] * n + j[None, :], total, (i < m)[:, None] & (j < n)[None, :], sem="relaxed")


@triton.jit
def matmul_batched(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, B: tl.constexpr):
    """A product of three dimensions."""
    batch = tl.program_id(0) * B + tl.arange(0, B)[:, None, None]
    i, j, at = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + batch * m * k + i[None, :, None] * k + at[None, None, :])
    right = tl.load(b + batch * k * n + at[None, :, None] * n + j[None, None, :])
    tl.store(c + batch * m * n + i[None, :, None] * n + j[None, None, :], tl.dot(left, right))


@triton.jit
def matmul_weights_of_4_bits(a, packed, scales, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    i, j = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        at, half = first + tl.arange(0, K), first // 2 + tl.arange(0, K // 2)
        words = tl.load(packed + half[:, None] * n + j[None, :])
        low, high = (words & 15).to(tl.float16) - 8, ((words >> 4) & 15).to(tl.float16) - 8
        right = tl.reshape(tl.permute(tl.join(low, high), (0, 2, 1)), (K, N))
        right *= tl.load(scales + first // GROUP * n + j)[None, :]
        total = tl.dot(tl.load(a + i[:, None] * k + at[None, :]), right, total)
    tl.store(c + i[:, None] * n + j[None, :], total.to(tl.float16), (i < m)[:, None] & (j < n)[None, :])


@triton.jit
def matmul_grouped(a_table, b_table, c_table, sizes, groups, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PROGRAMS: tl.constexpr):
    """Pointers to matrices in memory, one product after the other."""
    tile, last = tl.program_id(0), 0
    for group in range(groups):
        m, n, k = tl.load(sizes + group * 3), tl.load(sizes + group * 3 + 1), tl.load(sizes + group * 3 + 2)
        columns = tl.cdiv(n, N)
        tiles = tl.cdiv(m, M) * columns
        while tile >= last and tile < last + tiles:
            a = tl.load(a_table + group).to(tl.pointer_type(tl.float16))
            b = tl.load(b_table + group).to(tl.pointer_type(tl.float16))
            c = tl.load(c_table + group).to(tl.pointer_type(tl.float16))
            i, j = (tile - last) // columns * M + tl.arange(0, M), (tile - last) % columns * N + tl.arange(0, N)
            total = tl.zeros((M, N), dtype=tl.float32)
            for first in range(0, k, K):
                at = first + tl.arange(0, K)
                left = tl.load(a + i[:, None] * k + at[None, :], (i < m)[:, None] & (at < k)[None, :], other=0.0)
                right = tl.load(b + at[:, None] * n + j[None, :], (at < k)[:, None] & (j < n)[None, :], other=0.0)
                total += tl.dot(left, right)
            tl.store(c + i[:, None] * n + j[None, :], total.to(tl.float16), (i < m)[:, None] & (j < n)[None, :])
            tile += PROGRAMS
        last += tiles


@triton.jit
def matmul_scaled(a, a_scales, b, b_scales, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A_KIND: tl.constexpr,
                  B_KIND: tl.constexpr):
    """Operands with a scale for each 32 elements of K."""
    A_PACK: tl.constexpr = 2 if A_KIND == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B_KIND == "e2m1" else 1
    i, j = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        a_at, b_at = first // A_PACK + tl.arange(0, K // A_PACK), first // B_PACK + tl.arange(0, K // B_PACK)
        s = first // 32 + tl.arange(0, K // 32)
        left = tl.load(a + i[:, None] * (k // A_PACK) + a_at[None, :])
        right = tl.load(b + b_at[:, None] * n + j[None, :])
        left_scales, right_scales = tl.load(a_scales + i[:, None] * (k // 32) + s[None, :]), tl.load(b_scales + j[:, None] * (k // 32) + s[None, :])
        total = tl.dot_scaled(left, left_scales, A_KIND, right, right_scales, B_KIND, total)
    tl.store(c + i[:, None] * n + j[None, :], total, (i < m)[:, None] & (j < n)[None, :])


STRIDED = "i32 i32 i32 i32:16 i32 i32:16 i32 i32:16"


def tiled(name, kinds, tile, warps=4, stages=3, precision="tf32", activation="", targets=ALL, strides=STRIDED):
    m, n, k = tile
    return Case(f"matmul_{name}_{m}x{n}x{k}_w{warps}_s{stages}", matmul, f"{kinds} {strides}",
                {"M": m, "N": n, "K": k, "GROUP": 8, "PRECISION": precision, "ACTIVATION": activation, "stride_ak": 1, "stride_bn": 1},
                warps, stages, targets)


PLAIN = "i32 i32 i32 i32:16 i32:16 i32:16"
FP16, FP32, BF16, INT8, FP8 = "*fp16 *fp16 *fp16", "*fp32 *fp32 *fp32", "*bf16 *bf16 *bf16", "*i8 *i8 *i32", "*fp8e4nv *fp8e4nv *fp32"
CASES = [
    tiled("ieee", FP32, (32, 32, 16), precision="ieee", strides=PLAIN),
    tiled("ieee", FP32, (64, 64, 16), precision="ieee", strides=PLAIN),
    tiled("ieee", FP32, (128, 64, 32), 8, 2, precision="ieee", strides=PLAIN),
    tiled("tf32", FP32, (64, 64, 32), 4, 3, targets=AMPERE, strides=PLAIN),
    tiled("tf32", FP32, (128, 128, 32), 8, 4, targets=AMPERE, strides=PLAIN),
    tiled("tf32x3", FP32, (64, 64, 32), 4, 2, precision="tf32x3", targets=AMPERE, strides=PLAIN),
    tiled("fp16", FP16, (16, 16, 16), 1, 1, strides=PLAIN),
    tiled("fp16", FP16, (32, 64, 32), 2, 3, strides=PLAIN),
    tiled("fp16", FP16, (64, 64, 32), 4, 4, strides=PLAIN),
    tiled("fp16", FP16, (128, 128, 32), 4, 3, strides=PLAIN),
    tiled("fp16", FP16, (128, 256, 64), 8, 3, targets=AMPERE, strides=PLAIN),
    tiled("fp16_leaky", FP16, (64, 128, 32), 4, 3, activation="leaky", strides=PLAIN),
    tiled("fp16_gelu", FP16, (128, 64, 32), 4, 3, activation="gelu", targets=AMPERE, strides=PLAIN),
    tiled("bf16", BF16, (64, 64, 64), 4, 3, targets=AMPERE, strides=PLAIN),
    tiled("bf16", BF16, (128, 256, 64), 8, 4, targets=HOPPER, strides=PLAIN),
    tiled("int8", INT8, (64, 64, 64), 4, 3, strides=PLAIN),
    tiled("int8", INT8, (128, 128, 128), 8, 3, targets=AMPERE, strides=PLAIN),
    tiled("fp8", FP8, (64, 64, 64), 4, 3, targets=ADA, strides=PLAIN),
    tiled("fp8", FP8, (128, 128, 128), 8, 3, targets=ADA, strides=PLAIN),
    tiled("fp8e5", "*fp8e5 *fp8e5 *fp16", (64, 64, 64), 4, 2, targets=ADA, strides=PLAIN),
    tiled("mixed", "*fp16 *fp16 *fp32", (16, 128, 64), 4, 5, targets=AMPERE, strides=PLAIN),
    Case("matmul_transposed_fp16", matmul, "*fp16 *fp16 *fp16 i32 i32 i32 i32:16 i32:16 i32:16",
         {"M": 64, "N": 64, "K": 32, "GROUP": 4, "PRECISION": "tf32", "ACTIVATION": "gelu", "stride_ak": 1, "stride_bk": 1}),
    Case("matmul_strided_fp16", matmul, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32 i32 i32",
         {"M": 64, "N": 32, "K": 32, "GROUP": 4, "PRECISION": "tf32", "ACTIVATION": ""}),
    Case("matmul_persistent_fp16", matmul_persistent, "*fp16 *fp16 *fp16 i32 i32:16 i32:16",
         {"M": 64, "N": 64, "K": 64, "PROGRAMS": 132, "FLATTEN": False}, 4, 3, AMPERE),
    Case("matmul_persistent_flat", matmul_persistent, "*fp16 *fp16 *fp16 i32 i32:16 i32:16",
         {"M": 128, "N": 128, "K": 64, "PROGRAMS": 132, "FLATTEN": True}, 8, 3, HOPPER),
    Case("matmul_split_fp16", matmul_split, "*fp16 *fp16 *fp32 i32 i32:16 i32:16", {"M": 32, "N": 64, "K": 64, "SPLIT": 4}, 4, 3),
    Case("matmul_batched_fp16", matmul_batched, "*fp16 *fp16 *fp32 i32 i32:16 i32:16", {"M": 32, "N": 32, "K": 32, "B": 4}, 4, 1, AMPERE),
    Case("matmul_batched_fp32", matmul_batched, "*fp32 *fp32 *fp32 i32 i32:16 i32:16", {"M": 16, "N": 16, "K": 16, "B": 4}, 4, 1),
    Case("matmul_weights_of_4_bits", matmul_weights_of_4_bits, "*fp16 *i8 *fp16 *fp16 i32 i32:16 i32:16",
         {"M": 32, "N": 64, "K": 64, "GROUP": 128}, 4, 3, AMPERE),
    Case("matmul_grouped", matmul_grouped, "*i64 *i64 *i64 *i32 i32", {"M": 64, "N": 64, "K": 32, "PROGRAMS": 80}, 4, 2),
    Case("matmul_scaled_fp8", matmul_scaled, "*fp8e4nv *u8 *fp8e4nv *u8 *fp32 i32 i32:16 i32:16",
         {"M": 64, "N": 64, "K": 64, "A_KIND": "e4m3", "B_KIND": "e4m3"}, 4, 2, ADA),
    Case("matmul_scaled_fp4", matmul_scaled, "*u8 *u8 *u8 *u8 *fp32 i32 i32:16 i32:16",
         {"M": 64, "N": 64, "K": 128, "A_KIND": "e2m1", "B_KIND": "e2m1"}, 4, 2, AMPERE),
]

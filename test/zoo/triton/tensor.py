"""Copies of tiles through tensor maps (TMA), with products, reductions and gathers; clusters."""
import triton
import triton.language as tl
from case import HOPPER, Case


@triton.jit
def copy_tiles(source, target, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([i, j], source.load([i, j]) * 2)


@triton.jit
def add_tiles(source, target, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    target.atomic_add([0, j], source.load([i, j]))


@triton.jit
def gather_tiles(source, rows, target, N: tl.constexpr, ROWS: tl.constexpr):
    picked = tl.load(rows + tl.arange(0, ROWS))
    tl.store(target + tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :], source.gather(picked, 0))


@triton.jit
def sum_tiles(source, out, columns, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * M
    total = tl.zeros([M], tl.float32)
    for j in range(0, columns, N):
        total += tl.sum(source.load([i, j]).to(tl.float32), 1)
    tl.store(out + i + tl.arange(0, M), total)


@triton.jit
def matmul_tensor(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TRANSPOSED: tl.constexpr):
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        left = a.load([i, at])
        right = b.load([j, at]).T if TRANSPOSED else b.load([at, j])
        total = tl.dot(left, right, total)
    c.store([i, j], total.to(c.dtype))


@triton.jit
def matmul_tensor_persistent(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PROGRAMS: tl.constexpr,
                             SPECIALIZE: tl.constexpr):
    columns = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * columns, PROGRAMS, flatten=True, warp_specialize=SPECIALIZE):
        i, j = tile // columns * M, tile % columns * N
        total = tl.zeros((M, N), dtype=tl.float32)
        for step in range(0, tl.cdiv(k, K)):
            total = tl.dot(a.load([i, step * K]), b.load([j, step * K]).T, total)
        low, high = tl.split(tl.permute(tl.reshape(total, (M, 2, N // 2)), (0, 2, 1)))
        c.store([i, j], low.to(c.dtype))
        c.store([i, j + N // 2], high.to(c.dtype))


@triton.jit
def matmul_descriptors_on_device(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The tensor maps are made by the kernel itself."""
    a_map = tl.make_tensor_descriptor(a, [m, k], [k, 1], [M, K])
    b_map = tl.make_tensor_descriptor(b, [k, n], [n, 1], [K, N])
    c_map = tl.make_tensor_descriptor(c, [m, n], [n, 1], [M, N])
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        total = tl.dot(a_map.load([i, at]), b_map.load([at, j]), total)
    c_map.store([i, j], total.to(tl.float16))


CASES = [
    Case("tensor_copy_fp32", copy_tiles, "tensordesc<fp32[32,32]> tensordesc<fp32[32,32]>", {"M": 32, "N": 32}, targets=HOPPER),
    Case("tensor_copy_fp16", copy_tiles, "tensordesc<fp16[64,128]> tensordesc<fp16[64,128]>", {"M": 64, "N": 128}, targets=HOPPER),
    Case("tensor_copy_int8", copy_tiles, "tensordesc<i8[128,32]> tensordesc<i8[128,32]>", {"M": 128, "N": 32}, targets=HOPPER),
    Case("tensor_add_fp32", add_tiles, "tensordesc<fp32[16,64]> tensordesc<fp32[16,64]>", {"M": 16, "N": 64}, targets=HOPPER),
    Case("tensor_sum_bf16", sum_tiles, "tensordesc<bf16[64,64]> *fp32 i32", {"M": 64, "N": 64}, stages=4, targets=HOPPER),
    Case("tensor_matmul_fp16", matmul_tensor, "tensordesc<fp16[128,64]> tensordesc<fp16[64,128]> tensordesc<fp16[128,128]> i32 i32 i32",
         {"M": 128, "N": 128, "K": 64, "TRANSPOSED": False}, 8, 4, HOPPER),
    Case("tensor_matmul_bf16_transposed", matmul_tensor, "tensordesc<bf16[64,64]> tensordesc<bf16[128,64]> tensordesc<bf16[64,128]> i32 i32 i32",
         {"M": 64, "N": 128, "K": 64, "TRANSPOSED": True}, 4, 3, HOPPER),
    Case("tensor_matmul_tf32", matmul_tensor, "tensordesc<fp32[64,32]> tensordesc<fp32[64,32]> tensordesc<fp32[64,64]> i32 i32 i32",
         {"M": 64, "N": 64, "K": 32, "TRANSPOSED": True}, 4, 3, HOPPER),
    Case("tensor_matmul_fp8", matmul_tensor, "tensordesc<fp8e4nv[128,128]> tensordesc<fp8e4nv[128,128]> tensordesc<fp32[128,128]> i32 i32 i32",
         {"M": 128, "N": 128, "K": 128, "TRANSPOSED": True}, 8, 3, HOPPER),
    Case("tensor_matmul_cluster", matmul_tensor, "tensordesc<fp16[128,64]> tensordesc<fp16[64,128]> tensordesc<fp16[128,128]> i32 i32 i32",
         {"M": 128, "N": 128, "K": 64, "TRANSPOSED": False}, 4, 3, HOPPER, {"num_ctas": 2}),
    Case("tensor_matmul_persistent", matmul_tensor_persistent,
         "tensordesc<fp16[128,64]> tensordesc<fp16[128,64]> tensordesc<fp16[128,64]> i32 i32 i32",
         {"M": 128, "N": 128, "K": 64, "PROGRAMS": 132, "SPECIALIZE": False}, 8, 3, HOPPER),
    Case("tensor_matmul_specialized", matmul_tensor_persistent,
         "tensordesc<fp16[128,64]> tensordesc<fp16[128,64]> tensordesc<fp16[128,64]> i32 i32 i32",
         {"M": 128, "N": 128, "K": 64, "PROGRAMS": 132, "SPECIALIZE": True}, 4, 3, HOPPER),
    Case("tensor_matmul_own_maps", matmul_descriptors_on_device, "*fp16 *fp16 *fp16 i32 i32:16 i32:16", {"M": 64, "N": 128, "K": 64}, 4, 3, HOPPER),
]

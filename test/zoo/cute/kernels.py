"""Kernels in CuTe DSL: each has the types of its pointers, its shape and its block in KERNELS."""
import cutlass
import cutlass.cute as cute

N = 1024


@cute.kernel
def scale(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    if i < n:
        y[i] = x[i] * 2.0 + 1.0


@cute.kernel
def add_vectors(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    """Eight elements for each thread, through registers."""
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    parts, results = cute.zipped_divide(x, (8,)), cute.zipped_divide(y, (8,))
    results[(None, i)] = parts[(None, i)].load() + results[(None, i)].load()


@cute.kernel
def exponentials(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    values = cute.zipped_divide(x, (4,))[(None, i)].load()
    cute.zipped_divide(y, (4,))[(None, i)] = cute.math.exp(values) / (1.0 + cute.math.exp(values)) + cute.math.sqrt(values * values)


@cute.kernel
def warp_sums(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    value = x[i]
    for step in cutlass.range_constexpr(5):
        value = value + cute.arch.shuffle_sync_bfly(value, offset=1 << step)
    if cute.arch.lane_idx() == 0:
        y[i // 32] = value


@cute.kernel
def reverse_blocks(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    """Through shared memory."""
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    allocator = cutlass.utils.SmemAllocator()
    shared = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)
    shared[t] = x[b * 128 + t]
    cute.arch.sync_threads()
    y[b * 128 + t] = shared[127 - t]


@cute.kernel
def transpose(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    allocator = cutlass.utils.SmemAllocator()
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(33, 1)), 16)
    for k in cutlass.range_constexpr(8):
        row = k * 4 + t // 32
        tile[row, t % 32] = x[b * 1024 + row * 32 + t % 32]
    cute.arch.sync_threads()
    for k in cutlass.range_constexpr(8):
        row = k * 4 + t // 32
        y[b * 1024 + row * 32 + t % 32] = tile[t % 32, row]


@cute.kernel
def iterate(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    value, steps = x[i], cutlass.Int32(0)
    while value > 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    y[i] = steps


@cute.kernel
def dot_rows(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    total = cutlass.Float32(0)
    for k in cutlass.range(n, unroll=4):
        total += x[(i * n + k) % N].to(cutlass.Float32) * x[k % N].to(cutlass.Float32)
    y[i] = total


@cute.kernel
def multiply_tiles(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    """16 x 8 x 16 on tensor cores, with one warp."""
    lane = cute.arch.thread_idx()[0]
    product = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)))
    slices = product.get_slice(lane)
    a = slices.partition_A(cute.make_tensor(x.iterator, cute.make_layout((16, 16), stride=(16, 1))))
    b = slices.partition_B(cute.make_tensor(x.iterator + 256, cute.make_layout((8, 16), stride=(16, 1))))
    c = slices.partition_C(cute.make_tensor(y.iterator, cute.make_layout((16, 8), stride=(8, 1))))
    left, right, total = product.make_fragment_A(a), product.make_fragment_B(b), product.make_fragment_C(c)
    cute.autovec_copy(a, left)
    cute.autovec_copy(b, right)
    total.fill(0.0)
    for _ in cutlass.range(n):
        cute.gemm(product, total, left, right, total)
    cute.autovec_copy(total, c)


F16, F32, F64, I32, I64 = cutlass.Float16, cutlass.Float32, cutlass.Float64, cutlass.Int32, cutlass.Int64
KERNELS = [
    (scale, F32, F32), (scale, F64, F64), (add_vectors, F32, F32), (add_vectors, F16, F16), (exponentials, F32, F32), (warp_sums, F32, F32),
    (warp_sums, I32, I32), (reverse_blocks, F32, F32), (transpose, F32, F32), (iterate, I32, I32), (iterate, I64, I32), (dot_rows, F16, F32),
    (dot_rows, F32, F32), (multiply_tiles, F16, F32),
]

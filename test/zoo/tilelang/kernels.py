"""Kernels of TileLang. A function without an underscore returns a program."""
import tilelang.language as T


def add():
    @T.prim_func
    def add(a: T.Tensor((4096,), "float32"), b: T.Tensor((4096,), "float32"), c: T.Tensor((4096,), "float32")):
        with T.Kernel(T.ceildiv(4096, 512), threads=128) as block:
            for i in T.Parallel(512):
                c[block * 512 + i] = a[block * 512 + i] + b[block * 512 + i]

    return add


def _multiply(name, kind, total, m, n, k, tile_m, tile_n, tile_k, stages, threads):
    @T.prim_func
    def multiply(a: T.Tensor((m, k), kind), b: T.Tensor((k, n), kind), c: T.Tensor((m, n), total)):
        with T.Kernel(T.ceildiv(n, tile_n), T.ceildiv(m, tile_m), threads=threads) as (column, row):
            left, right = T.alloc_shared((tile_m, tile_k), kind), T.alloc_shared((tile_k, tile_n), kind)
            sums = T.alloc_fragment((tile_m, tile_n), total)
            T.clear(sums)
            for step in T.Pipelined(T.ceildiv(k, tile_k), num_stages=stages):
                T.copy(a[row * tile_m, step * tile_k], left)
                T.copy(b[step * tile_k, column * tile_n], right)
                T.gemm(left, right, sums)
            T.copy(sums, c[row * tile_m, column * tile_n])

    return multiply.with_attr("global_symbol", name)


def multiply_fp16():
    return _multiply("multiply_fp16", "float16", "float32", 256, 256, 256, 64, 64, 32, 2, 128)


def multiply_bf16_deep():
    return _multiply("multiply_bf16_deep", "bfloat16", "float32", 256, 256, 512, 128, 64, 32, 3, 128)


def multiply_small_tiles():
    return _multiply("multiply_small_tiles", "float16", "float32", 96, 96, 128, 32, 32, 32, 0, 64)


def softmax():
    @T.prim_func
    def softmax(x: T.Tensor((64, 1024), "float32"), y: T.Tensor((64, 1024), "float32")):
        with T.Kernel(64, threads=128) as row:
            line, highest, total = T.alloc_fragment((1, 1024), "float32"), T.alloc_fragment((1,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(x[row, 0], line)
            T.reduce_max(line, highest, dim=1)
            for i, j in T.Parallel(1, 1024):
                line[i, j] = T.exp(line[i, j] - highest[i])
            T.reduce_sum(line, total, dim=1)
            for i, j in T.Parallel(1, 1024):
                line[i, j] = line[i, j] / total[i]
            T.copy(line, y[row, 0])

    return softmax


def rms_norm():
    @T.prim_func
    def rms_norm(x: T.Tensor((128, 512), "float16"), y: T.Tensor((128, 512), "float16")):
        with T.Kernel(T.ceildiv(128, 4), threads=128) as block:
            rows, squares = T.alloc_shared((4, 512), "float16"), T.alloc_fragment((4, 512), "float32")
            sums = T.alloc_fragment((4,), "float32")
            T.copy(x[block * 4, 0], rows)
            for i, j in T.Parallel(4, 512):
                squares[i, j] = T.cast(rows[i, j], "float32") * T.cast(rows[i, j], "float32")
            T.reduce_sum(squares, sums, dim=1)
            for i, j in T.Parallel(4, 512):
                y[block * 4 + i, j] = T.cast(T.cast(rows[i, j], "float32") * T.rsqrt(sums[i] / 512 + 1e-5), "float16")

    return rms_norm


def matrix_by_vector():
    @T.prim_func
    def matrix_by_vector(a: T.Tensor((256, 1024), "float16"), x: T.Tensor((1024,), "float16"), y: T.Tensor((256,), "float32")):
        with T.Kernel(T.ceildiv(256, 8), threads=256) as block:
            part, sums = T.alloc_fragment((8, 1024), "float32"), T.alloc_fragment((8,), "float32")
            for i, j in T.Parallel(8, 1024):
                part[i, j] = T.cast(a[block * 8 + i, j], "float32") * T.cast(x[j], "float32")
            T.reduce_sum(part, sums, dim=1)
            T.copy(sums, y[block * 8])

    return matrix_by_vector


def histogram():
    @T.prim_func
    def histogram(values: T.Tensor((8192,), "int32"), counts: T.Tensor((256,), "int32")):
        with T.Kernel(8, threads=256) as block:
            for i in T.Parallel(1024):
                T.atomic_add(counts[values[block * 1024 + i] & 255], 1)

    return histogram


def transpose():
    @T.prim_func
    def transpose(x: T.Tensor((256, 128), "float32"), y: T.Tensor((128, 256), "float32")):
        with T.Kernel(T.ceildiv(128, 32), T.ceildiv(256, 32), threads=128) as (column, row):
            tile = T.alloc_shared((32, 32), "float32")
            T.copy(x[row * 32, column * 32], tile)
            for i, j in T.Parallel(32, 32):
                y[column * 32 + i, row * 32 + j] = tile[j, i]

    return transpose


def attention():
    @T.prim_func
    def attention(q: T.Tensor((128, 64), "float16"), k: T.Tensor((256, 64), "float16"), v: T.Tensor((256, 64), "float16"),
                  out: T.Tensor((128, 64), "float16")):
        with T.Kernel(2, threads=128) as block:
            queries, keys, values = (T.alloc_shared((64, 64), "float16") for _ in range(3))
            scores, total = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            weights = T.alloc_fragment((64, 64), "float16")
            highest, higher = T.alloc_fragment((64,), "float32"), T.alloc_fragment((64,), "float32")
            sums, part = T.alloc_fragment((64,), "float32"), T.alloc_fragment((64,), "float32")
            T.copy(q[block * 64, 0], queries)
            T.clear(total)
            T.clear(sums)
            T.fill(highest, -T.infinity("float32"))
            for step in T.Pipelined(4, num_stages=2):
                T.copy(k[step * 64, 0], keys)
                T.clear(scores)
                T.gemm(queries, keys, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(highest, higher)
                T.reduce_max(scores, highest, dim=1, clear=False)
                for i, j in T.Parallel(64, 64):
                    scores[i, j] = T.exp2((scores[i, j] - highest[i]) * 0.18033688)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(64):
                    sums[i] = sums[i] * T.exp2((higher[i] - highest[i]) * 0.18033688) + part[i]
                for i, j in T.Parallel(64, 64):
                    total[i, j] = total[i, j] * T.exp2((higher[i] - highest[i]) * 0.18033688)
                T.copy(scores, weights)
                T.copy(v[step * 64, 0], values)
                T.gemm(weights, values, total, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(64, 64):
                out[block * 64 + i, j] = T.cast(total[i, j] / sums[i], "float16")

    return attention

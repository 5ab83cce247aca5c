"""Kernels for numba-cuda: each has the types of its arguments behind it in KERNELS."""
import math

import numpy as np
from numba import complex64, cuda, float32, float64, from_dtype, int32, int64, types, uint8, uint32, uint64

TILE = 16
TABLE = np.arange(256, dtype=np.int32) * 7 % 31
RECORD = np.dtype([("key", np.int64), ("weight", np.float32), ("flags", np.uint8), ("next", np.int16)], align=True)


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def strided(x, y):
    """Arrays of any layout: indices times strides."""
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[j, i] = x[i, -1 - j]


def matmul(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    i, j = cuda.grid(2)
    ty, tx = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        left[ty, tx] = a[i, step * TILE + tx] if i < a.shape[0] and step * TILE + tx < a.shape[1] else float32(0)
        right[ty, tx] = b[step * TILE + ty, j] if step * TILE + ty < b.shape[0] and j < b.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


def mandelbrot(out, width, rounds):
    i = cuda.grid(1)
    if i >= out.size:
        return
    c = complex(i % width / width * 3 - 2, i // width / width * 2 - 1)
    z = 0j
    for n in range(rounds):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4:
            out[i] = n
            return
    out[i] = rounds


def histogram(values, bins):
    local = cuda.shared.array(256, int32)
    for k in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        local[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(local, values[i], 1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        cuda.atomic.add(bins, k, local[k])


def reduce_warps(x, out):
    i = cuda.grid(1)
    v = x[i] if i < x.size else float32(0)
    for offset in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, offset)
    parts = cuda.shared.array(32, float32)
    lane, warp = cuda.threadIdx.x & 31, cuda.threadIdx.x >> 5
    if lane == 0:
        parts[warp] = v
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = float32(0)
        for k in range((cuda.blockDim.x + 31) // 32):
            total += parts[k]
        cuda.atomic.add(out, 0, total)


def black_scholes(price, strike, years, call, put, rate, volatility):
    i = cuda.grid(1)
    if i >= price.size:
        return
    root = math.sqrt(years[i])
    d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root)
    d2 = d1 - volatility * root
    n1, n2 = 0.5 * math.erfc(-d1 * 0.7071067811865476), 0.5 * math.erfc(-d2 * 0.7071067811865476)
    discounted = strike[i] * math.exp(-rate * years[i])
    call[i] = price[i] * n1 - discounted * n2
    put[i] = discounted * (1 - n2) - price[i] * (1 - n1)


def nbody(positions, speeds, step):
    i = cuda.grid(1)
    if i >= positions.shape[0]:
        return
    ax = ay = az = float32(0)
    for j in range(positions.shape[0]):
        dx, dy, dz = positions[j, 0] - positions[i, 0], positions[j, 1] - positions[i, 1], positions[j, 2] - positions[i, 2]
        inverse = 1 / math.sqrt(dx * dx + dy * dy + dz * dz + float32(1e-6))
        pull = inverse * inverse * inverse * positions[j, 3]
        ax += dx * pull
        ay += dy * pull
        az += dz * pull
    speeds[i, 0] += ax * step
    speeds[i, 1] += ay * step
    speeds[i, 2] += az * step


def sort_in_block(keys):
    shared = cuda.shared.array(256, int64)
    t = cuda.threadIdx.x
    shared[t] = keys[cuda.grid(1)]
    cuda.syncthreads()
    size = 2
    while size <= 256:
        gap = size // 2
        while gap > 0:
            other = t ^ gap
            if other > t and (shared[t] > shared[other]) == ((t & size) == 0):
                shared[t], shared[other] = shared[other], shared[t]
            cuda.syncthreads()
            gap //= 2
        size *= 2
    keys[cuda.grid(1)] = shared[t]


def polynomials(x, out):
    """A local array, indexed by a variable."""
    i = cuda.grid(1)
    local = cuda.local.array(16, float64)
    if i < x.size:
        local[0], local[1] = 1.0, x[i]
        for n in range(2, 16):
            local[n] = ((2 * n - 1) * x[i] * local[n - 1] - (n - 1) * local[n - 2]) / n
        out[i] = local[int(abs(x[i]) * 7) % 16]


def table_lookup(x, y):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < x.size:
        y[i] = table[x[i]] + table[(x[i] * 3) & 255]


def follow_records(records, sums):
    i = cuda.grid(1)
    if i < records.size:
        at, total = i, float32(0)
        for _ in range(8):
            total += records[at].weight * (records[at].flags & 3)
            at = records[at].next % records.size
        sums[i] = total
        records[i].key = records[i].key * 6364136223846793005 + 1442695040888963407


def integers(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] // y[i] + x[i] % y[i] + (x[i] << (y[i] & 31)) + cuda.popc(x[i]) + cuda.clz(y[i]) + cuda.brev(x[i]) + cuda.ffs(y[i])


def checked_quotients(x, y, out):
    """Division raises an exception with debug, and an index out of bounds does."""
    i = cuda.grid(1)
    if i < out.size:
        if y[i] == 0:
            raise ZeroDivisionError("divisor")
        out[i] = x[i] // y[i]


def compare_and_swap(lock, values):
    i = cuda.grid(1)
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    values[0] += i
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


def atomic_extremes(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, 0, x[i])
        cuda.atomic.min(out, 1, x[i])
        cuda.atomic.nanmax(out, 2, x[i])
        cuda.atomic.sub(out, 3, x[i])


def random_walk(states, out, steps):
    """xoroshiro128+ in two 64-bit numbers for each thread."""
    i = cuda.grid(1)
    s0, s1 = states[i, 0], states[i, 1]
    place = 0
    for _ in range(steps):
        r = s0 + s1
        s1 ^= s0
        s0 = (s0 << uint64(55) | s0 >> uint64(9)) ^ s1 ^ (s1 << uint64(14))
        s1 = s1 << uint64(36) | s1 >> uint64(28)
        place += 1 if r >> uint64(63) else -1
    out[i] = place
    states[i, 0], states[i, 1] = s0, s1


def transform_points(points, matrix, out):
    i = cuda.grid(1)
    if i < points.shape[0]:
        for r in range(3):
            out[i, r] = matrix[r, 0] * points[i, 0] + matrix[r, 1] * points[i, 1] + matrix[r, 2] * points[i, 2] + matrix[r, 3]


def fft_step(x, half):
    i = cuda.grid(1)
    if i < x.size // 2:
        k = i % half
        at = i // half * 2 * half + k
        angle = -math.pi * k / half
        t = x[at + half] * complex(math.cos(angle), math.sin(angle))
        x[at], x[at + half] = x[at] + t, x[at] - t


def votes(x, out):
    i = cuda.grid(1)
    mask = cuda.activemask()
    p = x[i] > 0
    b = cuda.ballot_sync(mask, p)
    same = cuda.match_any_sync(mask, x[i] & 7)
    out[i] = b ^ same ^ cuda.any_sync(mask, p) ^ (cuda.all_sync(mask, p) << 1) ^ cuda.popc(cuda.lanemask_lt() & b)


def stencil(x, y):
    tile = cuda.shared.array((10, 34), float32)
    i, j = cuda.grid(2)
    t, u = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    if i < x.shape[0] and j < x.shape[1]:
        tile[t, u] = x[i, j]
        if t == 1:
            tile[0, u] = x[max(i - 1, 0), j]
        if t == 8:
            tile[9, u] = x[min(i + 1, x.shape[0] - 1), j]
        if u == 1:
            tile[t, 0] = x[i, max(j - 1, 0)]
        if u == 32:
            tile[t, 33] = x[i, min(j + 1, x.shape[1] - 1)]
    cuda.syncthreads()
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = 0.25 * (tile[t - 1, u] + tile[t + 1, u] + tile[t, u - 1] + tile[t, u + 1])


def collatz(x, out):
    i = cuda.grid(1)
    if i < x.size:
        n, steps = x[i], 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        out[i] = steps


def dynamic_shared(x, y):
    buffer = cuda.shared.array(0, float64)
    t = cuda.threadIdx.x
    buffer[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    y[cuda.grid(1)] = buffer[cuda.blockDim.x - 1 - t]


def half_sums(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = float32(x[i]) * float32(x[i]) + float32(1)


F32, F64, I32, I64 = float32[::1], float64[::1], int32[::1], int64[::1]
KERNELS = [
    (saxpy, (float32, F32, F32)),
    (strided, (float64[:, :], float64[:, :])),
    (matmul, (float32[:, ::1], float32[:, ::1], float32[:, ::1])),
    (mandelbrot, (I32, int32, int32)),
    (histogram, (uint8[::1], I32)),
    (reduce_warps, (F32, F32)),
    (black_scholes, (F64, F64, F64, F64, F64, float64, float64)),
    (nbody, (float32[:, ::1], float32[:, ::1], float32)),
    (sort_in_block, (I64,)),
    (polynomials, (F64, F64)),
    (table_lookup, (uint8[::1], I32)),
    (follow_records, (from_dtype(RECORD)[::1], F32)),
    (integers, (uint32[::1], uint32[::1], uint32[::1])),
    (checked_quotients, (I64, I64, I64)),
    (compare_and_swap, (I32, I64)),
    (atomic_extremes, (F64, F64)),
    (random_walk, (uint64[:, ::1], I32, int32)),
    (transform_points, (float32[:, ::1], float32[:, ::1], float32[:, ::1])),
    (fft_step, (complex64[::1], int32)),
    (votes, (I32, uint32[::1])),
    (stencil, (float32[:, ::1], float32[:, ::1])),
    (collatz, (I64, I32)),
    (dynamic_shared, (F64, F64)),
    (half_sums, (types.float16[::1], F32)),
]

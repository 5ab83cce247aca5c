"""Clusters of several blocks: places, shared memory of the others, copies to it, barriers in it."""
import functools
import json
import struct

from recipes.data import Buffer, Scalar, integers, launch, s32, u32
from recipes.integers import flat


class Tensor(Buffer):
    """A buffer that the kernel sees as a tensor."""

    def __init__(self, name, kind, init, size, box, swizzle=None):
        super().__init__(name, kind, init=init, count=size[0] * size[1])
        self.map = {"buffer": name, "size": size, "box": box}
        if swizzle:
            self.map["swizzle"] = swizzle

    def argument(self):
        return json.dumps({"tensorMap": self.map})


def place(number, shape):
    return number % shape[0], number // shape[0] % shape[1], number // shape[0] // shape[1]


def places(grid, shape, explicit=1):
    rows = [None] * (grid[0] * grid[1] * grid[2])
    count = tuple(g // s for g, s in zip(grid, shape))
    for cluster in range(count[0] * count[1] * count[2]):
        for rank in range(shape[0] * shape[1] * shape[2]):
            of, at = place(cluster, count), place(rank, shape)
            x, y, z = (o * s + a for o, s, a in zip(of, shape, at))
            size = shape[0] * shape[1] * shape[2]
            rows[(z * grid[1] + y) * grid[0] + x] = [*at, rank, *shape, size, *of, explicit, *count, 7]
    return [Buffer("out", "u32", expected=flat(rows))]


@launch("cluster_places", "places", grid=6, cluster=2, folder="handwritten")
def cluster_places():
    return places((6, 1, 1), (2, 1, 1))


@launch("cluster_places", "places", grid=[6, 4], cluster=[3, 2], folder="handwritten")
def cluster_places_2d():
    return places((6, 4, 1), (3, 2, 1))


@launch("cluster_places", "places", grid=[2, 4, 6], cluster=[1, 2, 3], folder="handwritten")
def cluster_places_3d():
    return places((2, 4, 6), (1, 2, 3))


@launch("cluster_places", "places", grid=16, cluster=16, folder="handwritten", about="As many blocks as there may be.")
def cluster_places_most():
    return places((16, 1, 1), (16, 1, 1))


@launch("cluster_places", "places", grid=[2, 2], cluster=1, folder="handwritten")
def cluster_places_alone():
    return places((2, 2, 1), (1, 1, 1))


@launch("cluster_places", "places", grid=[2, 2], folder="handwritten", about="Nobody asks for clusters.")
def cluster_places_none():
    return places((2, 2, 1), (1, 1, 1), explicit=0)


@launch("cluster_places", "neighbours", grid=8, block=64, folder="handwritten", about="The kernel says the shape.")
def cluster_neighbours():
    rows = []
    for block in range(8):
        first, rank = block // 4 * 4, block % 4
        for t in range(64):
            me, before = block * 64 + t, (first + (rank - 1) % 4) * 64 + t
            there = (rank + 1) % 4
            rows.append([before, before + 1000, me, me + 1000, there * 256 + there * 16 + rank, 1 | 2 | 8, 0, there])
    return [Buffer("out", "u32", expected=flat(rows))]


def accesses(blocks, size):
    rows = []
    for block in range(blocks):
        first, rank = block // size * size, block % size
        lanes = range(first * 32, (first + size) * 32)
        count = len(lanes)
        sums = [0] * 16
        sums[0], sums[1], sums[2] = count, u32(-max(lanes)), 2 ** 32 - 1
        sums[4] = sums[5] = count
        sums[6] = data_f32(size * 496)
        sums[8], sums[9] = u32(data_f64(size * 496)), data_f64(size * 496) >> 32
        sums[10], sums[11] = 3 * count, 2 * count
        sums[12], sums[13] = data_f32(size * 496), max(lanes)
        for t in range(32):
            n = (first + (rank ^ 1)) * 32 + t
            rows.append([n, n + 1, n + 2, n + 3, n, (rank ^ 1) << 16 | n & 0xFFFF, n + 1, rank ^ 1,
                         sums[t] if t < 16 else 0, rank, size, rank ^ 1])
    return [Buffer("out", "u32", expected=flat(rows))]


def data_f32(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def data_f64(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


@launch("cluster_places", "accesses", grid=4, cluster=2, folder="handwritten")
def cluster_accesses():
    return accesses(4, 2)


@launch("cluster_places", "accesses", grid=8, cluster=8, folder="handwritten")
def cluster_accesses_8():
    return accesses(8, 8)


@launch("cluster_copies", "values", grid=8, block=32, folder="handwritten")
def cluster_values():
    rows = []
    for block in range(8):
        rank, first = block % 4, block // 4 * 4
        before = first + (rank - 1) % 4
        lanes = range(before * 32, before * 32 + 32)
        # 32 increments up to 20, and then from the start again.
        total = sum(n << 20 for n in lanes)
        sums = [sum(lanes), max(lanes), 32 % 21, 0, u32(total), total >> 32] + [0] * 10
        for t in range(32):
            n = before * 32 + t
            rows.append([t, n, n + 500, before, n + 500, t, n + 500, sums[t] if t < 16 else 0] + [(rank + 1) % 4] * 4)
    return [Buffer("out", "u32", expected=flat(rows))]


def rows_of(blocks, size):
    a = integers("u32", blocks * 64, 31, 0, 1000)
    out = []
    for block in range(blocks):
        first, rank = block // size * size, block % size
        opposite = first + size - 1 - rank
        for t in range(64):
            total = t + sum(a[64 * b + t] for b in range(first, first + size)) if rank == 0 else 0
            out += [a[64 * opposite + t], total]
    return [Buffer("in", "u32", a), Buffer("out", "u32", expected=out)]


@launch("cluster_copies", "rows", grid=4, block=64, cluster=2, folder="handwritten")
def cluster_rows():
    return rows_of(4, 2)


@launch("cluster_copies", "rows", grid=[4, 2], block=64, cluster=[4, 1], folder="handwritten", stops="memcheck",
        about="Rows lie by %ctaid.x: the second row of clusters is no fault; a buffer for one row less is.")
def cluster_rows_outside():
    return [Buffer("in", "u32", init="i", count=192), Buffer("out", "u32", init=0, count=512)]


@launch("cluster_copies", "rows", grid=8, block=64, cluster=8, folder="handwritten")
def cluster_rows_8():
    return rows_of(8, 8)


@launch("cluster_copies", "multicast", grid=8, block=64, cluster=4, folder="handwritten")
def cluster_multicast():
    a = integers("u32", 256, 32)
    masks = [15, 10, 5, 8]
    out = []
    for block in range(8):
        out += [a[i] if masks[i // 64] >> block % 4 & 1 else 7 for i in range(256)]
    return [Buffer("in", "u32", a), Buffer("out", "u32", expected=out)]


@launch("cluster_copies", "multicast", grid=4, block=64, cluster=2, folder="handwritten", stops="memcheck",
        about="Copies for blocks that the cluster does not have.")
def cluster_multicast_outside():
    return [Buffer("in", "u32", init="i", count=256), Buffer("out", "u32", init=0, count=1024)]


@launch("cluster_copies", "multicastTile", grid=4, block=64, folder="handwritten")
def cluster_multicast_tile():
    out = []
    for block in range(4):
        out += [y * 32 + x + block // 2 * 16 for y in range(16) for x in range(16)]
    return [Tensor("x", "u32", "i", [32, 16], [16, 8]), Buffer("out", "u32", expected=out)]


@launch("cluster_copies", "handOver", grid=2, block=32, folder="handwritten")
def cluster_hand_over():
    return [Buffer("out", "u32", expected=[functools.reduce(lambda sum, r: sum * 7 + r * 100 + t, range(6), 0)
                                           for t in range(32)])]


def histogram(blocks, size, bins):
    a = integers("s32", 1000, 33)
    rows = [[0] * (bins * size) for _ in range(blocks // size)]
    for i, value in enumerate(a):
        rows[i // 64 % blocks // size][value % (bins * size)] += 1
    return [Buffer("in", "s32", a), Scalar("s32", 1000), Scalar("s32", bins), Buffer("out", "s32", expected=flat(rows))]


@launch("cluster_groups", "clusterHistogram", grid=4, block=64, cluster=2, shared=128)
def cluster_histogram():
    return histogram(4, 2, 32)


@launch("cluster_groups", "clusterHistogram", grid=8, block=64, cluster=8, shared=40)
def cluster_histogram_8():
    return histogram(8, 8, 10)


@launch("cluster_groups", "clusterHistogram", grid=2, block=64, shared=200, about="Without clusters each block is one.")
def cluster_histogram_alone():
    return histogram(2, 1, 50)


@launch("cluster_groups", "clusterSum", grid=8, block=96, about="Eighths, so that sums are exact.")
def cluster_sum():
    a = [k / 8 for k in integers("s32", 768, 34, -100, 100)]
    out = []
    for cluster in range(2):
        sums = [sum(a[96 * b:96 * b + 96]) for b in range(4 * cluster, 4 * cluster + 4)]
        out += [sum(sums), max(sums)]
    return [Buffer("in", "f32", a), Buffer("out", "f32", expected=out)]


@launch("cluster_groups", "clusterTranspose", grid=[4, 2], block=[16, 16], cluster=[2, 2])
def cluster_transpose():
    a = integers("s32", 64 * 32, 35)
    out = [a[x % 32 * 64 + x // 32 * 32 + y] for y in range(32) for x in range(64)]
    return [Buffer("in", "s32", a), Buffer("out", "s32", expected=out), Scalar("s32", 64)]


@launch("cluster_groups", "clusterStencil", grid=8, block=64, cluster=4)
def cluster_stencil():
    a = integers("s32", 512, 36, -1000, 1000)
    out = []
    for i, value in enumerate(a):
        left = a[i - 1] if i % 256 != 0 else 0
        right = a[i + 1] if i % 256 != 255 else 0
        out.append(s32(value * (i % 7) + left - 2 * right + (i // 64 % 4 << 20)))
    return [Buffer("in", "s32", a), Buffer("out", "s32", expected=out)]


@launch("cluster_faults", "wrongRank", grid=2, cluster=2, folder="handwritten", stops="memcheck")
def cluster_wrong_rank():
    return [Buffer("out", "u32", init=0, count=64)]


@launch("cluster_faults", "tooFar", grid=2, cluster=2, folder="handwritten", stops="memcheck")
def cluster_too_far():
    return [Buffer("out", "u32", init=0, count=64)]


@launch("cluster_faults", "leavesEarly", grid=2, cluster=2, folder="handwritten", stops="memcheck")
def cluster_leaves_early():
    return [Buffer("out", "u32", init=0, count=64)]


@launch("cluster_faults", "waitsForOther", grid=2, cluster=2, folder="handwritten", stops="deadlock")
def cluster_waits_for_other():
    return [Buffer("out", "u32", init=0, count=64)]


@launch("cluster_gemm", "product", grid=4, block=128, folder="handwritten", about="Sums of small integers are exact.")
def cluster_gemm():
    return [Tensor("a", "f16", "i * 13 % 101 % 7 - 3", [256, 256], [64, 64], "128B"),
            Tensor("b", "f16", "i * 29 % 103 % 7 - 3", [256, 16], [64, 8], "128B"),
            Buffer("out", "f32", count=4096,
                   expected="sum(k,0,256,a[i/16*256+k]*b[i%16*256+k])")]

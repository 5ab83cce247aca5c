"""Work of whole blocks: tiles in shared memory and registers."""
import warp as wp

TILE = 32


@wp.kernel
def tile_sum(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = wp.tile_load(x[i], shape=256)
    wp.tile_store(out, wp.tile_sum(wp.tile_map(wp.mul, row, row)), offset=i)


@wp.kernel
def tile_copy(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    tile = wp.tile_load(x, shape=(TILE, TILE), offset=(i * TILE, j * TILE), storage="shared")
    wp.tile_store(y, wp.tile_transpose(tile), offset=(j * TILE, i * TILE))


@wp.func
def soften(v: float):
    return v / (1.0 + wp.abs(v))


@wp.kernel
def tile_map(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    tile = wp.tile_map(soften, wp.tile_load(x, shape=(16, 64), offset=(i * 16, j * 64)))
    wp.tile_atomic_add(y, tile, offset=(0, j * 64))


@wp.kernel
def tile_extremes(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    row = wp.tile_load(x[i], shape=512)
    wp.tile_store(out[i], wp.tile_max(row), offset=0)
    wp.tile_store(out[i], wp.tile_min(row), offset=1)


@wp.kernel
def tile_order(keys: wp.array2d(dtype=int), values: wp.array2d(dtype=int)):
    i = wp.tid()
    k, v = wp.tile_load(keys[i], shape=128, storage="shared"), wp.tile_load(values[i], shape=128, storage="shared")
    wp.tile_sort(k, v)
    wp.tile_store(keys[i], k)
    wp.tile_store(values[i], v)


@wp.kernel
def tile_scan(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    wp.tile_store(y[i], wp.tile_scan_inclusive(wp.tile_load(x[i], shape=256)))


KERNELS = [tile_sum, tile_copy, tile_map, tile_extremes, tile_order, tile_scan]

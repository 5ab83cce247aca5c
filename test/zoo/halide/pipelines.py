"""Pipelines of images for Halide: each function gives what is computed, and its inputs."""
import halide as hl

x, y, c, i = (hl.Var(name) for name in "xyci")
xo, yo, xi, yi = (hl.Var(name) for name in ("xo", "yo", "xi", "yi"))


def _tile(function, width=16, height=16):
    return function.gpu_tile(x, y, xo, yo, xi, yi, width, height)


def _image(kind, dimensions=2):
    return hl.ImageParam(kind, dimensions, "image")


def scale():
    image, factor = _image(hl.Float(32)), hl.Param(hl.Float(32), "factor")
    f = hl.Func("scale")
    f[x, y] = image[x, y] * factor + 1.0
    _tile(f)
    return f, [image, factor]


def blur():
    """Rows first, in shared memory."""
    image = _image(hl.UInt(16))
    rows, f = hl.Func("rows"), hl.Func("blur")
    rows[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) / hl.u16(3)
    f[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) / hl.u16(3)
    _tile(f, 32, 8)
    rows.compute_at(f, xo).gpu_threads(x, y)
    return f, [image]


def unsharp():
    image, strength = _image(hl.UInt(8)), hl.Param(hl.Float(32), "strength")
    edge = hl.BoundaryConditions.repeat_edge(image, [(0, image.width()), (0, image.height())])
    smooth, f = hl.Func("smooth"), hl.Func("unsharp")
    r = hl.RDom([(-2, 5), (-2, 5)])
    smooth[x, y] = hl.sum(hl.f32(edge[x + r.x, y + r.y]) * hl.exp(-hl.f32(r.x * r.x + r.y * r.y) / 4.0)) / 12.0
    value = hl.f32(edge[x, y])
    f[x, y] = hl.u8_sat(value + strength * (value - smooth[x, y]))
    _tile(f)
    return f, [image, strength]


def sobel():
    image = _image(hl.UInt(8))
    edge = hl.BoundaryConditions.mirror_image(image, [(0, image.width()), (0, image.height())])
    wide, f = hl.Func("wide"), hl.Func("sobel")
    wide[x, y] = hl.i16(edge[x, y])
    gx = wide[x + 1, y - 1] + 2 * wide[x + 1, y] + wide[x + 1, y + 1] - wide[x - 1, y - 1] - 2 * wide[x - 1, y] - wide[x - 1, y + 1]
    gy = wide[x - 1, y + 1] + 2 * wide[x, y + 1] + wide[x + 1, y + 1] - wide[x - 1, y - 1] - 2 * wide[x, y - 1] - wide[x + 1, y - 1]
    f[x, y] = hl.u8_sat(hl.u16(hl.abs(gx)) + hl.u16(hl.abs(gy)))
    f.gpu_tile(x, y, xo, yo, xi, yi, 64, 4).vectorize(xi, 4)
    return f, [image]


def histogram():
    image = _image(hl.UInt(8))
    f = hl.Func("histogram")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    f[i] = hl.u32(0)
    f[hl.i32(image[r.x, r.y])] += hl.u32(1)
    f.gpu_tile(i, xo, xi, 64)
    f.update().atomic().gpu_tile(r.x, r.y, hl.RVar("ro"), hl.RVar("so"), hl.RVar("ri"), hl.RVar("si"), 16, 16)
    return f, [image]


def multiply():
    """Products of matrices, with a tile of the result in registers."""
    a, b = hl.ImageParam(hl.Float(32), 2, "a"), hl.ImageParam(hl.Float(32), 2, "b")
    total, f = hl.Func("total"), hl.Func("multiply")
    k = hl.RDom([(0, a.width())])
    total[x, y] += a[k, y] * b[x, k]
    f[x, y] = total[x, y]
    xt, yt = hl.Var("xt"), hl.Var("yt")
    _tile(f, 64, 32).tile(xi, yi, xt, yt, xi, yi, 4, 4).unroll(xi).unroll(yi).gpu_threads(xt, yt)
    total.compute_at(f, xt).unroll(x).unroll(y).update().reorder(x, y, k.x).unroll(x).unroll(y)
    return f, [a, b]


def convolution_layer():
    image, filters, bias = _image(hl.Float(32), 3), hl.ImageParam(hl.Float(32), 4, "filters"), hl.ImageParam(hl.Float(32), 1, "bias")
    total, f = hl.Func("layer"), hl.Func("convolution_layer")
    r = hl.RDom([(0, 3), (0, 3), (0, filters.dim(2).extent())])
    total[x, y, c] = bias[c]
    total[x, y, c] += filters[r.x, r.y, r.z, c] * image[x + r.x, y + r.y, r.z]
    f[x, y, c] = hl.max(total[x, y, c], 0.0)
    f.gpu_tile(x, y, xo, yo, xi, yi, 32, 4).gpu_blocks(c)
    total.compute_at(f, xi)
    return f, [image, filters, bias]


def resize():
    """A cubic kernel at places that follow from the scale."""
    image, factor = _image(hl.Float(32)), hl.Param(hl.Float(32), "factor")
    edge = hl.BoundaryConditions.repeat_edge(image, [(0, image.width()), (0, image.height())])
    f = hl.Func("resize")
    place = (hl.f32(x) + 0.5) * factor - 0.5
    first = hl.i32(hl.floor(place))
    r = hl.RDom([(-1, 4)])
    gap = hl.abs(place - hl.f32(first + r.x))
    near = 1.5 * gap * gap * gap - 2.5 * gap * gap + 1.0
    far = -0.5 * gap * gap * gap + 2.5 * gap * gap - 4.0 * gap + 2.0
    f[x, y] = hl.sum(edge[first + r.x, y] * hl.select(gap < 1.0, near, gap < 2.0, far, 0.0))
    _tile(f)
    return f, [image, factor]


def bilateral():
    image = _image(hl.Float(32))
    edge = hl.BoundaryConditions.constant_exterior(image, 0.0, [(0, image.width()), (0, image.height())])
    sums, f = hl.Func("sums"), hl.Func("bilateral")
    r = hl.RDom([(-3, 7), (-3, 7)])
    other = edge[x + r.x, y + r.y]
    weight = hl.fast_exp(-(other - edge[x, y]) * (other - edge[x, y]) * 8.0 - hl.f32(r.x * r.x + r.y * r.y) * 0.1)
    sums[x, y] = (0.0, 0.0)
    sums[x, y] = (sums[x, y][0] + weight * other, sums[x, y][1] + weight)
    f[x, y] = sums[x, y][0] / sums[x, y][1]
    _tile(f)
    sums.compute_at(f, xi)
    return f, [image]


def brightest():
    """The place of the largest element of each row."""
    image = _image(hl.Float(32))
    f = hl.Func("brightest")
    r = hl.RDom([(0, image.width())])
    found = hl.argmax(image[r.x, y])
    f[y] = found[0]
    f.gpu_tile(y, yo, yi, 32)
    return f, [image]


def prefix_sums():
    """A recurrence along the rows, one thread for each."""
    image = _image(hl.Int(32))
    f = hl.Func("prefix_sums")
    r = hl.RDom([(1, image.width() - 1)])
    f[x, y] = image[x, y]
    f[r.x, y] = f[r.x - 1, y] + f[r.x, y] * 3 % 1000
    _tile(f)
    f.update().gpu_tile(y, yo, yi, 64)
    return f, [image]


def colours():
    """From YUV to RGB in fixed point, three channels."""
    image = _image(hl.UInt(8), 3)
    f = hl.Func("colours")
    luma, u, v = (hl.i32(image[x, y, k]) - offset for k, offset in ((0, 16), (1, 128), (2, 128)))
    base = luma * 298 + 128
    f[x, y, c] = hl.u8_sat(hl.mux(c, [base + 409 * v, base - 100 * u - 208 * v, base + 516 * u]) >> 8)
    f.bound(c, 0, 3).gpu_tile(x, y, xo, yo, xi, yi, 32, 8).reorder(c, xi, yi, xo, yo).unroll(c)
    return f, [image]


def look_up():
    image, table = _image(hl.UInt(16)), hl.ImageParam(hl.Float(64), 1, "table")
    f = hl.Func("look_up")
    f[x, y] = hl.f32(table[hl.i32(image[x, y] & hl.u16(255))]) + hl.f32(hl.sqrt(table[hl.i32(image[x, y] >> hl.u16(8))]))
    _tile(f, 32, 4)
    return f, [image, table]


def gradient_noise():
    f = hl.Func("gradient_noise")
    f[x, y] = hl.random_float() + hl.sin(hl.f32(x) * 0.1) * hl.cos(hl.f32(y) * 0.1) + hl.pow(hl.f32(x & 15), 0.7)
    _tile(f)
    return f, []


def halves():
    image = _image(hl.Float(16))
    f = hl.Func("halves")
    f[x, y] = hl.cast(hl.Float(16), hl.f32(image[x, y]) * hl.f32(image[x + 1, y])) + image[x, y + 1]
    _tile(f, 32, 8)
    return f, [image]

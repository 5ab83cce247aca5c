"""Tensor expressions for TVM, which schedules them for a GPU by its own rules.

A function without an underscore returns the tensors: arguments first, results last.
"""
from tvm import te, tirx, topi


def _tensor(name, *shape, dtype="float32"):
    return te.placeholder(shape, dtype=dtype, name=name)


def softmax():
    x = _tensor("x", 64, 1000)
    return [x, topi.nn.softmax(x)]


def layer_norm():
    x, scale, shift = _tensor("x", 37, 384), _tensor("scale", 384), _tensor("shift", 384)
    return [x, scale, shift, topi.nn.layer_norm(x, scale, shift, [1], 1e-5)]


def multiply():
    a, b = _tensor("a", 256, 128), _tensor("b", 128, 192)
    k = te.reduce_axis((0, 128), name="k")
    return [a, b, te.compute((256, 192), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")]


def matrix_by_vector():
    a, x = _tensor("a", 512, 640, dtype="float16"), _tensor("x", 640, dtype="float16")
    k = te.reduce_axis((0, 640), name="k")
    return [a, x, te.compute((512,), lambda i: te.sum(a[i, k].astype("float32") * x[k].astype("float32"), axis=k), name="y")]


def convolution():
    x, weights = _tensor("x", 1, 16, 28, 28), _tensor("weights", 24, 16, 3, 3)
    return [x, weights, topi.nn.relu(topi.nn.conv2d(x, weights, 2, 1, 1, data_layout="NCHW"))]


def grouped_convolution():
    x, weights = _tensor("x", 2, 12, 19, 19), _tensor("weights", 12, 1, 5, 5)
    return [x, weights, topi.nn.depthwise_conv2d_nchw(x, weights, 1, 2, 1)]


def pooling():
    x = _tensor("x", 2, 8, 31, 29)
    return [x, topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg", layout="NCHW", count_include_pad=False)]


def arg_max():
    x = _tensor("x", 50, 333)
    return [x, topi.argmax(x, axis=1)]


def column_sums():
    x = _tensor("x", 700, 65)
    return [x, topi.sum(x, axis=0)]


def gelu():
    x = _tensor("x", 5000)
    return [x, te.compute((5000,), lambda i: x[i] * (tirx.erf(x[i] * 0.70710678) * 0.5 + 0.5), name="y")]


def special_functions():
    x = _tensor("x", 999)
    return [x, te.compute((999,), lambda i: tirx.sin(x[i]) * tirx.exp(x[i]) + tirx.log(tirx.abs(x[i]) + 1.0) + tirx.tanh(x[i]), name="y")]


def gather_rows():
    table, rows = _tensor("table", 100, 60), _tensor("rows", 31, dtype="int32")
    return [table, rows, topi.take(table, rows, axis=0, mode="clip")]


def transpose():
    x = _tensor("x", 65, 33, 17)
    return [x, topi.transpose(x, (2, 1, 0))]


def resize():
    x = _tensor("x", 1, 3, 20, 30)
    return [x, topi.image.resize2d(x, (0.0, 0.0, 20.0, 30.0), (45, 50), layout="NCHW", method="linear")]


def quotients():
    a, b = _tensor("a", 1234, dtype="int32"), _tensor("b", 1234, dtype="int32")
    return [a, b, te.compute((1234,), lambda i: tirx.floordiv(a[i], b[i]) + tirx.truncmod(a[i], b[i]), name="c")]


def doubles():
    x = _tensor("x", 640, dtype="float64")
    return [x, te.compute((640,), lambda i: tirx.sqrt(x[i] * x[i] + 1.0) / (x[i] + 2.0), name="y")]

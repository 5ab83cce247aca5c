"""Functions for XLA's own code generator, and kernels of Pallas (which XLA hands to Triton).

A function without an underscore returns (function, shapes of the arguments). XLA makes one or more kernels of each.
"""
import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def _floats(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def _integers(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def softmax():
    return (lambda x: jax.nn.softmax(x, axis=-1)), [_floats(64, 1000)]


def layer_norm_gradient():
    def loss(x, scale, shift):
        centred = x - x.mean(-1, keepdims=True)
        return jnp.sum(jnp.tanh(centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift))

    return jax.grad(loss, argnums=(0, 1, 2)), [_floats(32, 384), _floats(384), _floats(384)]


def transpose_and_round():
    return (lambda x: jnp.transpose(x, (2, 0, 1)).astype(jnp.bfloat16)), [_floats(33, 65, 129)]


def column_sums():
    return (lambda x: (x.sum(0), jnp.max(x, 0), (x * x).sum(0))), [_floats(1024, 257)]


def arg_max():
    return (lambda x: (jnp.argmax(x, 1), jnp.max(x, 1))), [_floats(48, 777)]


def sort_pairs():
    return (lambda keys, values: lax.sort([keys, values], num_keys=1)), [_floats(500), _integers(500)]


def prefix_sums():
    return (lambda x: jnp.cumsum(x, axis=1)), [_floats(16, 700)]


def linear_recurrence():
    def combine(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    return (lambda a, b: lax.associative_scan(combine, (a, b), axis=0)[1]), [_floats(129, 32), _floats(129, 32)]


def histogram():
    return (lambda x: jnp.zeros(256, jnp.int32).at[x & 255].add(1)), [_integers(10000)]


def scatter_rows():
    return (lambda table, rows, new: table.at[rows].max(new)), [_floats(100, 48), _integers(37), _floats(37, 48)]


def gather_rows():
    return (lambda table, rows: jnp.take(table, rows, axis=0, mode="clip") * 2), [_floats(100, 48), _integers(37)]


def random_normals():
    return (lambda key: jax.random.normal(jax.random.wrap_key_data(key), (3000,))), [jax.ShapeDtypeStruct((2,), jnp.uint32)]


def collatz():
    def steps(n):
        return lax.while_loop(lambda s: s[0] > 1, lambda s: (jnp.where(s[0] & 1, 3 * s[0] + 1, s[0] >> 1), s[1] + 1), (n, 0))[1]

    return (lambda n: lax.map(steps, n)), [_integers(4)]


def complex_roots():
    def roots(a, b, c):
        wide = jnp.sqrt((b * b - 4 * a * c).astype(jnp.complex64))
        return (-b + wide) / (2 * a), (-b - wide) / (2 * a)

    return roots, [_floats(999), _floats(999), _floats(999)]


def integer_arithmetic():
    def mixed(a, b):
        return a // b, a % b, lax.clz(a), lax.population_count(b), lax.shift_right_logical(a, b & 31)

    return mixed, [_integers(1111), _integers(1111)]


def doubles():
    return (lambda x: jnp.exp(jnp.sin(x)) / (1 + jnp.log1p(x * x))), [jax.ShapeDtypeStruct((777,), jnp.float64)]


def special_functions():
    def special(x):
        return lax.erf_inv(x), lax.lgamma(x), lax.digamma(x), jax.scipy.special.i0e(x), lax.cbrt(x), lax.atan2(x, 1 - x)

    return special, [_floats(640)]


def float8():
    return (lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float16) + x.astype(jnp.float8_e5m2).astype(jnp.float16)), [_floats(2048)]


def multiply_with_gelu():
    def layer(x, weights, bias):
        return jax.nn.gelu(jnp.dot(x, weights, preferred_element_type=jnp.float32) + bias).astype(jnp.float16)

    half = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float16)
    return layer, [half((128, 256)), half((256, 192)), _floats(192)]


def multiply_integers():
    byte = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.int8)
    return (lambda a, b: jnp.dot(a, b, preferred_element_type=jnp.int32)), [byte((64, 128)), byte((128, 64))]


def windows():
    return (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3), (1, 2, 2), "SAME")), [_floats(6, 41, 43)]


def pallas_add():
    def kernel(x, y, out):
        out[...] = x[...] + y[...]

    return _call(kernel, _floats(1024), grid=(4,), blocks=[pl.BlockSpec((256,), lambda i: (i,))] * 2,
                 out=pl.BlockSpec((256,), lambda i: (i,))), [_floats(1024), _floats(1024)]


def pallas_softmax():
    def kernel(x, out):
        row = x[...]
        wide = jnp.exp(row - jnp.max(row, axis=-1, keepdims=True))
        out[...] = wide / jnp.sum(wide, axis=-1, keepdims=True)

    rows = pl.BlockSpec((4, 512), lambda i: (i, 0))
    return _call(kernel, _floats(64, 512), grid=(16,), blocks=[rows], out=rows), [_floats(64, 512)]


def pallas_multiply():
    def kernel(a, b, out):
        def step(k, total):
            part = pl.ds(k * 32, 32)
            return total + pl.dot(a[:, part], b[part, :])

        out[...] = lax.fori_loop(0, 4, step, jnp.zeros((64, 64), jnp.float32))

    half = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float16)
    blocks = [pl.BlockSpec((64, 128), lambda i, j: (i, 0)), pl.BlockSpec((128, 64), lambda i, j: (0, j))]
    return _call(kernel, _floats(128, 128), grid=(2, 2), blocks=blocks, out=pl.BlockSpec((64, 64), lambda i, j: (i, j))), [
        half((128, 128)), half((128, 128))]


def pallas_attention():
    def kernel(q, k, v, out):
        def step(at, state):
            total, highest, weights = state
            part = pl.ds(at * 32, 32)
            scores = pl.dot(q[...], k[part, :], trans_b=True) * 0.125
            higher = jnp.maximum(highest, scores.max(-1))
            wide, old = jnp.exp(scores - higher[:, None]), jnp.exp(highest - higher)
            total = total * old[:, None] + pl.dot(wide.astype(jnp.float16), v[part, :])
            return total, higher, weights * old + wide.sum(-1)

        begin = jnp.zeros((32, 64), jnp.float32), jnp.full((32,), -jnp.inf, jnp.float32), jnp.zeros((32,), jnp.float32)
        total, _, weights = lax.fori_loop(0, 4, step, begin)
        out[...] = (total / weights[:, None]).astype(jnp.float16)

    half = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float16)
    rows, all_rows = pl.BlockSpec((32, 64), lambda i: (i, 0)), pl.BlockSpec((128, 64), lambda i: (0, 0))
    return _call(kernel, half((128, 64)), grid=(4,), blocks=[rows, all_rows, all_rows], out=rows), [half((128, 64))] * 3


def _call(kernel, shape, grid, blocks, out):
    return pl.pallas_call(kernel, out_shape=shape, grid=grid, in_specs=blocks, out_specs=out,
                          compiler_params=plt.CompilerParams(num_warps=4, num_stages=2))

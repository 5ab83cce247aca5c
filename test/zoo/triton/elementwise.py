"""One result for each element: masks, conversions, mathematical functions, random numbers, strides."""
import triton
import triton.language as tl
from case import ADA, AMPERE, Case
from triton.language.extra import libdevice


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def add_64_bit(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, inside, other=1) * tl.load(y + at, inside, other=2), inside)


@triton.jit
def gelu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, inside, other=0.0).to(tl.float32)
    inner = 0.7978845608 * (v + 0.044715 * v * v * v)
    tl.store(y + at, (0.5 * v * (1.0 + libdevice.tanh(inner))), inside)


@triton.jit
def gelu_exact(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, inside).to(tl.float32)
    tl.store(y + at, 0.5 * v * (1.0 + tl.erf(v * 0.70710678)), inside)


@triton.jit
def swiglu(gate, up, out, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < columns
    g = tl.load(gate + row * columns + at, inside).to(tl.float32)
    u = tl.load(up + row * columns + at, inside).to(tl.float32)
    tl.store(out + row * columns + at, g * tl.sigmoid(g) * u, inside)


@triton.jit
def transcendental(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, inside, other=1.0)
    r = tl.exp(v) + tl.log(tl.abs(v) + 1) + tl.sin(v) * tl.cos(v) + tl.sqrt(tl.abs(v)) + tl.rsqrt(v * v + 1)
    tl.store(y + at, r + libdevice.pow(tl.abs(v), 0.3) + libdevice.atan2(v, 2.0) + tl.exp2(v) + tl.log2(v * v + 2), inside)


@triton.jit
def transcendental_double(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=1.0)
    tl.store(y + at, tl.exp(v) + tl.log(tl.abs(v) + 1) + tl.sin(v) + tl.sqrt(tl.abs(v)) / (v * v + 1), at < n)


@triton.jit
def special_functions(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=1.0)
    tl.store(y + at, libdevice.lgamma(v) + libdevice.j0(v) + libdevice.erfcinv(tl.sigmoid(v)) + libdevice.cbrt(v), at < n)


@triton.jit
def integer_division(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a, b = tl.load(x + at, inside, other=1), tl.load(y + at, inside, other=1)
    tl.store(z + at, a // b + a % b + a // 7 + (a % 10) * (b % 1000), inside)


@triton.jit
def bits(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, inside, other=0)
    high = tl.umulhi(v, v ^ 0x9E3779B9)
    tl.store(y + at, ((v << 7) | (v >> 25)) ^ high ^ (v & (v - 1)), inside)


@triton.jit
def convert(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(x + at, inside).to(y.dtype.element_ty), inside)


@triton.jit
def dropout(x, y, n, chance, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    kept = tl.rand(seed, at) > chance
    tl.store(y + at, tl.where(kept, tl.load(x + at, inside) / (1 - chance), 0.0), inside)


@triton.jit
def normal_numbers(y, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.randn(seed, at), at < n)


@triton.jit
def transpose(x, y, rows, columns, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = (i < rows)[:, None] & (j < columns)[None, :]
    v = tl.load(x + i[:, None] * columns + j[None, :], inside)
    tl.store(y + j[:, None] * rows + i[None, :], tl.trans(v), tl.trans(inside))


@triton.jit
def rotary(x, cosines, sines, y, length, heads, DIM: tl.constexpr):
    place, head = tl.program_id(0), tl.program_id(1)
    half = tl.arange(0, DIM // 2)
    base = (place * heads + head) * DIM
    c, s = tl.load(cosines + place * (DIM // 2) + half), tl.load(sines + place * (DIM // 2) + half)
    a, b = tl.load(x + base + half).to(tl.float32), tl.load(x + base + DIM // 2 + half).to(tl.float32)
    tl.store(y + base + half, a * c - b * s)
    tl.store(y + base + DIM // 2 + half, a * s + b * c)


@triton.jit
def adam(p, g, m, v, n, rate, beta1, beta2, eps, decay, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    gradient, weight = tl.load(g + at, inside).to(tl.float32), tl.load(p + at, inside)
    first = beta1 * tl.load(m + at, inside) + (1 - beta1) * gradient
    second = beta2 * tl.load(v + at, inside) + (1 - beta2) * gradient * gradient
    correction1 = 1 - tl.exp2(step * tl.log2(beta1))
    correction2 = 1 - tl.exp2(step * tl.log2(beta2))
    weight -= rate * (first / correction1 / (tl.sqrt(second / correction2) + eps) + decay * weight)
    tl.store(m + at, first, inside)
    tl.store(v + at, second, inside)
    tl.store(p + at, weight, inside)


@triton.jit
def pack_nibbles(x, y, scale, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    packed = tl.load(x + at, inside, other=0)
    low, high = ((packed << 4).to(tl.int8) >> 4).to(tl.float32), (packed.to(tl.int8) >> 4).to(tl.float32)
    s = tl.load(scale + at // 16, inside)
    both = tl.interleave(low * s, high * s)
    wide = tl.program_id(0) * BLOCK * 2 + tl.arange(0, BLOCK * 2)
    tl.store(y + wide, both, wide < 2 * n)


@triton.jit
def prmt_assembly(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=0)
    swapped = tl.inline_asm_elementwise("prmt.b32 $0, $1, 0, 0x0123;", "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(y + at, swapped, at < n)


def two(name, kernel, types, block, **more):
    """Both a short and a long block: one and many elements for each thread."""
    return [Case(f"{name}_b{block}", kernel, types, {"BLOCK": block}, **more),
            Case(f"{name}_b{8 * block}", kernel, types, {"BLOCK": 8 * block}, warps=8, **more)]


CASES = [
    *two("add_fp32", add, "*fp32 *fp32 *fp32 i32", 128),
    Case("add_fp32_aligned", add, "*fp32 *fp32 *fp32 i32:16", {"BLOCK": 1024}),
    Case("add_fp16", add, "*fp16 *fp16 *fp16 i32:16", {"BLOCK": 1024}),
    Case("add_bf16", add, "*bf16 *bf16 *bf16 i32:16", {"BLOCK": 1024}, targets=AMPERE),
    Case("add_fp64", add, "*fp64 *fp64 *fp64 i32", {"BLOCK": 512}, warps=2),
    Case("add_int8", add, "*i8 *i8 *i8 i32:16", {"BLOCK": 2048}),
    Case("multiply_int64", add_64_bit, "*i64 *i64 *i64 i64", {"BLOCK": 512}),
    Case("gelu_fp32", gelu, "*fp32 *fp32 i32", {"BLOCK": 1024}),
    Case("gelu_fp16", gelu, "*fp16 *fp16 i32:16", {"BLOCK": 2048}, warps=8),
    Case("gelu_exact", gelu_exact, "*fp32 *fp32 i32:16", {"BLOCK": 1024}),
    Case("swiglu_fp16", swiglu, "*fp16 *fp16 *fp16 i32 i32:16", {"BLOCK": 1024}),
    Case("transcendental", transcendental, "*fp32 *fp32 i32", {"BLOCK": 256}),
    Case("transcendental_fp64", transcendental_double, "*fp64 *fp64 i32", {"BLOCK": 128}),
    Case("special_functions", special_functions, "*fp32 *fp32 i32", {"BLOCK": 128}),
    Case("integer_division", integer_division, "*i32 *i32 *i32 i32", {"BLOCK": 512}),
    Case("integer_division_64", integer_division, "*i64 *i64 *i64 i32", {"BLOCK": 256}),
    Case("bits", bits, "*u32 *u32 i32", {"BLOCK": 1024}),
    Case("convert_fp32_fp16", convert, "*fp32 *fp16 i32:16", {"BLOCK": 1024}),
    Case("convert_fp16_fp64", convert, "*fp16 *fp64 i32", {"BLOCK": 512}),
    Case("convert_fp32_int8", convert, "*fp32 *i8 i32:16", {"BLOCK": 1024}),
    Case("convert_int64_fp32", convert, "*i64 *fp32 i32", {"BLOCK": 512}),
    Case("convert_bf16_fp32", convert, "*bf16 *fp32 i32:16", {"BLOCK": 1024}, targets=AMPERE),
    Case("convert_fp32_fp8e5", convert, "*fp32 *fp8e5 i32:16", {"BLOCK": 1024}, targets=AMPERE),
    Case("convert_fp16_fp8e4", convert, "*fp16 *fp8e4nv i32:16", {"BLOCK": 1024}, targets=ADA),
    Case("convert_fp8e4_bf16", convert, "*fp8e4nv *bf16 i32:16", {"BLOCK": 1024}, targets=ADA),
    Case("dropout", dropout, "*fp32 *fp32 i32 fp32 i32", {"BLOCK": 1024}),
    Case("normal_numbers", normal_numbers, "*fp32 i32 i32", {"BLOCK": 512}),
    Case("transpose_fp32", transpose, "*fp32 *fp32 i32 i32", {"TILE": 32}),
    Case("transpose_fp16", transpose, "*fp16 *fp16 i32:16 i32:16", {"TILE": 64}, warps=8),
    Case("rotary", rotary, "*fp16 *fp32 *fp32 *fp16 i32 i32", {"DIM": 128}),
    Case("adam", adam, "*fp32 *fp32 *fp32 *fp32 i32 fp32 fp32 fp32 fp32 fp32 fp32", {"BLOCK": 1024}),
    Case("unpack_nibbles", pack_nibbles, "*i8 *fp16 *fp32 i32:16", {"BLOCK": 512}),
    Case("prmt_assembly", prmt_assembly, "*i32 *i32 i32", {"BLOCK": 256}),
]

"""Products of matrices by the matrix unit."""
from recipes import rounding as fp
from recipes.data import Buffer, Scalar, integers, launch, reals, s32


def product(a, b, rows, columns, depth):
    """A by rows, B by columns."""
    return [sum(a[i * depth + k] * b[j * depth + k] for k in range(depth)) for i in range(rows) for j in range(columns)]


def whole(kind, count, seed, low, high):
    values = integers("s32", count, seed, low, high)
    return values if kind[0] in "su" else [float(v) for v in values]


def tile(kind_a, kind_b, kind_d, depth, words, limit, seed):
    """A 16 x 8 tile of whole numbers: exact in every order and precision."""
    low_b = 0 if kind_b[0] == "u" else -limit
    a, b = whole(kind_a, 16 * depth, seed, -limit, limit), whole(kind_b, 8 * depth, seed + 1, low_b, limit)
    return [Buffer("a", kind_a, a), Buffer("b", kind_b, b), Buffer("d", kind_d, expected=product(a, b, 16, 8, depth)),
            Scalar("s32", words)]


@launch("mma_gemm", "gemmHalf")
def gemm_half():
    return tile("f16", "f16", "f32", 32, 16, 60, 1)


@launch("mma_gemm", "gemmBfloat")
def gemm_bfloat():
    return tile("bf16", "bf16", "f32", 32, 16, 100, 3)


@launch("mma_gemm", "gemmTf32")
def gemm_tf32():
    return tile("f32", "f32", "f32", 16, 16, 500, 5)


@launch("mma_gemm", "gemmBytes")
def gemm_bytes():
    return tile("s8", "u8", "s32", 64, 16, 127, 7)


@launch("mma_gemm", "gemmLdmatrix")
def gemm_ldmatrix():
    return tile("f16", "f16", "f16", 16, 0, 8, 9)[:3]


@launch("mma_gemm", "gemmHalf", about="How the matrix unit adds is not public: sums of 32 products in single precision, in any order.")
def gemm_half_random():
    a, b = [[fp.of(v, "f16") for v in reals(count, seed, -2.0, 2.0)] for count, seed in ((512, 11), (256, 12))]
    return [Buffer("a", "f16", a), Buffer("b", "f16", b),
            Buffer("d", "f32", expected=[fp.of(v) for v in product(a, b, 16, 8, 32)],
                   tolerance={"absolute": 1e-4, "relative": 1e-5}), Scalar("s32", 16)]


@launch("mma_double", "gemmDouble", about="Quarters of whole numbers: exact in every order.")
def gemm_double():
    a, b = [[v / 4 for v in integers("s32", 8 * 12, seed, -999, 999)] for seed in (13, 14)]
    return [Buffer("a", "f64", a), Buffer("b", "f64", b), Buffer("d", "f64", expected=product(a, b, 8, 8, 12)),
            Scalar("s32", 12)]


@launch("matrix_fragments", "fragments", about="wmma: 16 x 16 x 16, halves to single precision.")
def gemm_fragments():
    a, b = whole("f16", 256, 15, -60, 60), whole("f16", 256, 16, -60, 60)
    return [Buffer("a", "f16", a), Buffer("b", "f16", b), Buffer("c", "f32", expected=product(a, b, 16, 16, 16))]

"""Branches, loops, calls, predication."""
from recipes import rounding as fp
from recipes.data import Buffer, Scalar, Variable, integers, launch, quotient, reals, remainder, s32, u32
from recipes.integers import flat


@launch("divergent_branches", "nested")
def branches_nested():
    a = integers("s32", 32, 1, -20, 200)
    r, side = [], [0] * 32
    for i, x in enumerate(a):
        if x & 1:
            if x & 2:
                v = x * 3
                for _ in range(x & 7):
                    v = s32(v ^ v << 1)
            else:
                v = a[i * 5 & 31] - x
            v = s32(v + 1000)
        elif x > 50:
            v = side[i] = x // 3
        else:
            v = -x
        r.append(v)
    out = [s32(r[i] + r[i ^ 1]) for i in range(32)]
    return [Buffer("a", "s32", a), Buffer("out", "s32", init=0, count=96, expected=out + [0] * 32 + side)]


@launch("divergent_branches", "joinThenVote")
def branches_join():
    a, ballot = integers("s32", 32, 2, -20, 60), 0
    for i, x in enumerate(a):
        if x > 10:
            x = a[x & 31]
            if x > 20:
                x = a[x + 1 & 31]
        ballot |= (x & 1) << i
    return [Buffer("a", "s32", a), Buffer("out", "u32", count=32, expected=str(ballot))]


@launch("early_return", "earlyReturn", grid=2, block=64)
def early_return():
    n, a, out = 100, integers("s32", 100, 3, -50, 1000), []
    for x in a:
        result = -1
        if x >= 0:
            for k in range(10):
                x = x * 7 % 31
                if x == 5:
                    result = k
                    break
            else:
                result = x + 100
        out.append(result)
    return [Buffer("a", "s32", a), Buffer("out", "s32", init=55, count=128, expected=out + [55] * 28), Scalar("s32", n)]


@launch("carried_guard", "carried", folder="handwritten")
def carried_guard():
    n, a, out = 8, integers("u32", 96, 24, 0, 1000), []
    for t in range(32):
        total = 0
        for i in range(n):
            value = a[t + 32 * (i // 3)] # the last one that was loaded
            total += 3 * value
        out.append(total)
    return [Buffer("a", "u32", a), Buffer("out", "u32", expected=out), Scalar("u32", n)]


@launch("loops", "counted")
def loops_counted():
    a, n, m = integers("s32", 20, 4), 9, 17
    s, terms = 0, 0
    for i in range(n):
        for j in range(i, m, 2):
            s += a[i] * a[j]
            terms += 1
    return [Buffer("a", "s32", a), Buffer("out", "s32", expected=[s32(s + terms * t) for t in range(32)]), Scalar("s32", n),
            Scalar("s32", m)]


@launch("loops", "breakContinue")
def loops_break():
    n, a, out = 23, integers("s32", 23, 5, 0, 4), []
    a[17] = -3
    for t in range(32):
        s = 0
        for i in range(n):
            x = a[(i + t) % n]
            if x == 0:
                continue
            if x < 0:
                s -= 1
                break
            s += x
        out.append(s)
    return [Buffer("a", "s32", a), Buffer("out", "s32", expected=out), Scalar("s32", n)]


@launch("loops", "collatz")
def loops_collatz():
    a, steps = integers("u32", 32, 6, 1, 5000), []
    for x in a:
        n = 0
        while True:
            x = 3 * x + 1 if x & 1 else x >> 1
            n += 1
            if x <= 1 or n >= 500:
                break
        steps.append(n)
    return [Buffer("a", "u32", a), Buffer("steps", "u32", expected=steps)]


@launch("loops", "unrolled")
def loops_unrolled():
    a, out = reals(512, 7), []
    for t in range(32):
        s = 0.0
        for i in range(16):
            s = fp.fma(s, 0.5, a[i * 32 + t])
        out.append(s)
    return [Buffer("a", "f32", a), Buffer("out", "f32", expected=out)]


@launch("predication", "predicated")
def predicated():
    a, b, side, out = integers("s32", 33, 8, -200, 300), integers("s32", 32, 9, -200, 300), [7] * 32, []
    for i in range(32):
        x, y = min(a[i], b[i]), b[i]
        if x < 0:
            side[i] = y
        if y & 1:
            x += a[i + 1]
        out.append(x - 100 if x > 100 else x)
    return [Buffer("a", "s32", a), Buffer("b", "s32", b), Buffer("out", "s32", expected=out),
            Buffer("side", "s32", init=7, count=32, expected=side)]


@launch("predication", "compoundConditions")
def compound_conditions():
    a, b, out = reals(32, 10, -1.0, 2.0), integers("s32", 32, 11, -5, 5), []
    for x, y in zip(a, b):
        small, even, positive = x < 0.5, y & 1 == 0, y > 0
        out.append((small and even) | (small or positive) << 1 | (small != even) << 2 |
                   (not (small and (even or positive))) << 3)
    return [Buffer("a", "f32", a), Buffer("b", "s32", b), Buffer("out", "s32", expected=out)]


@launch("switch_branch", "interpreter")
def switch_interpreter():
    code = [3, 2, 0, 9, 1, 7, 5, 4, 12, 2, 6, 8, 0, 200, 2, 12, 7, 3, 6, 5, 1, 4, 10, 11, 2, 9]
    a, out = integers("s32", 32, 12), []
    for t in range(32):
        x, y, pc = a[t], 1, 0
        while pc < len(code):
            op = code[pc]
            if op == 0:
                x = s32(x + y)
            elif op == 1:
                x = s32(x - y)
            elif op == 2:
                x = s32(x * y)
            elif op == 3:
                y = x
            elif op in (4, 5):
                y = s32(y + t) if op == 4 else y
                x ^= y
            elif op == 6:
                x = s32(x << (y & 7))
            elif op == 7:
                x = s32(-x)
            elif op == 9:
                x = max(x, y)
            elif op == 12:
                pc += x & 1
            else:
                y = 3
            pc += 1
        out.append(x)
    return [Buffer("code", "u8", code), Buffer("in", "s32", a), Buffer("out", "s32", expected=out), Scalar("s32", len(code))]


@launch("device_function", "calls")
def calls():
    a = integers("s32", 32, 13)
    z = [float(v) for v in integers("s32", 66, 14, -1000, 1000)]

    def gcd(x, y):
        return x if y == 0 else gcd(y, remainder(x, y))

    out, products = [], []
    for i, x in enumerate(a):
        out += [s32(x * i + 1), s32(x * 3 + 1 + (x + 1) * 5 + 1), gcd(x & 255, 36)]
        p, q = complex(*z[2 * i:2 * i + 2]), complex(*z[2 * i + 2:2 * i + 4])
        products += [(p * q).real, (p * q).imag]
    return [Buffer("a", "s32", a), Buffer("z", "f64", z), Buffer("out", "s32", expected=out),
            Buffer("outZ", "f64", expected=products)]


@launch("function_pointer", "indirectCalls")
def calls_indirect():
    a = reals(32, 15)
    ways = (lambda x: x + x, lambda x: fp.mul(x, x), lambda x: -x)
    return [Buffer("a", "f32", a), Buffer("out", "f32", expected=[fp.add(ways[i % 3](x), 1.0) for i, x in enumerate(a)])]


@launch("launch_bounds", "boundedBlocks", grid=2, block=256)
def bounded_blocks():
    return [Buffer("a", "s32", count=2048, init="i * 3"), Buffer("b", "s32", count=2048, expected="(i / 4 * 4 + 3 - i % 4) * 3")]


@launch("launch_bounds", "bounded", block=128)
def bounded():
    return [Buffer("a", "s32", count=128, init="i", expected="i + 1")]


@launch("assertions", "checked")
def checked():
    n = 16
    a = [(k * 5 + 3) % 20 for k in range(32)]
    return [Buffer("in", "s32", a), Buffer("out", "s32", init=-7, count=32, expected=[a[x] if x < n else -7 for x in a]),
            Scalar("s32", n)]


@launch("special_registers", "indices", grid=[2, 3, 2], block=[4, 2, 3])
def special_indices():
    out = []
    for z in range(2):
        for y in range(3):
            for _ in range(2):
                out += flat((t % 4, y, 3, 2 + 2) for t in range(24))
    return [Buffer("out", "u32", expected=out)]


@launch("special_registers", "lanes", block=64)
def special_lanes():
    rows = []
    for t in range(64):
        lane = t & 31
        eq, lt = 1 << lane, (1 << lane) - 1
        rows.append((lane, eq, lt, lt | eq, u32(~(lt | eq)), u32(~lt), 32))
    return [Buffer("out", "u32", expected=flat(rows))]


@launch("special_registers", "clocks", about="Clocks differ between runs; the kernel only says that they rise.")
def special_clocks():
    return [Buffer("out", "u32", init=1, count=32, expected="7"), Scalar("s32", 32)]


@launch("empty", "empty", grid=3, block=64)
def empty():
    return []


@launch("register_pressure", "manyLive")
def many_live():
    a, out = reals(48 * 32, 16, -1.0, 1.0), []
    for t in range(32):
        v = [a[i * 32 + t] for i in range(48)]
        for k in range(3):
            for i in range(48):
                v[i] = fp.fma(v[i], v[(i + 17) % 48], v[(i * 5 + k) % 48])
        s = 0.0
        for x in v:
            s = fp.fma(s, 1.25, x)
        out.append(s)
    return [Buffer("in", "f32", a), Buffer("out", "f32", expected=out)]


@launch("register_pressure", "manyLiveDoubles", about="Small whole numbers: exact whether products and sums are contracted or not.")
def many_live_doubles():
    a, out = [float(v) for v in integers("s32", 24 * 32, 17, -8, 8)], []
    for t in range(32):
        v = [a[i * 32 + t] for i in range(24)]
        for i in range(24):
            v[i] = fp.fma(v[i], v[(i + 7) % 24], -v[i * 5 % 24], "f64")
        s = 1.0
        for x in v:
            s = fp.fma(s, 0.5, x, "f64")
        out.append(s)
    return [Buffer("in", "f64", a), Buffer("out", "f64", expected=out)]


def template(symbol, kind, a, b, x, y):
    """axpby: a x + b y, kept within 1000; every product and sum here is exact."""
    n = 70
    expected = [max(-1000, min(1000, a * p + b * q)) for p, q in zip(x, y)][:n] + y[n:]
    return [Scalar(kind, a), Buffer("x", kind, x), Scalar(kind, b), Buffer("y", kind, y, expected=expected), Scalar("s32", n)]


for _kind, _letter in (("s32", "i"), ("s16", "s"), ("s64", "x"), ("f32", "f"), ("f64", "d")):
    def _recipe(kind=_kind):
        x, y = integers("s32", 80, 18, -150, 150), integers("s32", 80, 19, -150, 150)
        if kind[0] == "f":
            x, y = [v + 0.25 for v in x], [v - 0.5 for v in y]
        return template("axpby", kind, 9, -4, x, y)
    _recipe.__name__ = "template_" + _kind
    launch("templates", f"_Z5axpbyI{_letter}EvT_PKS0_S0_PS0_i", grid=2, block=40)(_recipe)


@launch("assertions", "checked", stops="trap", about="A negative index: the kernel traps.")
def checked_trap():
    return [Buffer("in", "s32", [k - 1 for k in range(32)]), Buffer("out", "s32", init=0, count=32), Scalar("s32", 32)]

#!/usr/bin/env python3
"""Writes kernels of a given size and shape, to see how the time of compilation grows.

    kernels.py SHAPE INSTRUCTIONS > kernel.ptx      kernels.py --list

The size is the number of PTX instructions, near enough. The same shape and size give the same text.
"""
import argparse
import itertools
import random
import sys

HEAD = """.version 8.0
.target sm_90
.address_size 64

.visible .entry kernel(.param .u64 in, .param .u64 out, .param .u32 count)
{
  .reg .b32 %r<REGISTERS>;
  .reg .f32 %f<REGISTERS>;
  .reg .b64 %rd<8>;
  .reg .pred %p<PREDICATES>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [count];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r3, [%rd4];
  ld.global.u32 %r4, [%rd4+4];
"""
TAIL = """  st.global.u32 [%rd5], %r3;
  st.global.u32 [%rd5+4], %r4;
  ret;
}
"""
OPERATIONS = ("add.s32", "sub.s32", "xor.b32", "and.b32", "or.b32", "mul.lo.s32", "min.s32", "max.u32", "shl.b32")


class Kernel:
    """The text of one kernel; %r3 and %r4 carry values from each part to the next."""

    def __init__(self, size):
        self.size, self.lines, self.count = size, [], 0
        self.random = random.Random(size)
        self.registers, self.predicates = itertools.count(10), itertools.count(1)
        self.labels = itertools.count(1)

    def emit(self, *lines):
        self.lines += [f"  {line};" for line in lines]
        self.count += len(lines)

    def label(self, name):
        self.lines.append(f"{name}:")

    def register(self):
        return f"%r{next(self.registers)}"

    def predicate(self):
        return f"%p{next(self.predicates)}"

    def new_label(self):
        return f"L{next(self.labels)}"

    def full(self):
        return self.count >= self.size

    def operation(self, to, a, b):
        name = self.random.choice(OPERATIONS)
        self.emit(f"{name} {to}, {a}, {self.random.randrange(1, 9) if name == 'shl.b32' else b}")

    def text(self):
        head = HEAD.replace("REGISTERS", str(next(self.registers) + 1)).replace("PREDICATES", str(next(self.predicates) + 1))
        return head + "\n".join(self.lines) + "\n" + TAIL


def straight(k):
    """One block; each operation reads two of the last twenty values, and every thirtieth line is an access."""
    last = ["%r3", "%r4"]
    while not k.full():
        if k.count % 30 == 10:
            to = k.register()
            k.emit(f"ld.global.u32 {to}, [%rd4+{4 * (k.count % 1000)}]")
        elif k.count % 30 == 20:
            k.emit(f"st.global.u32 [%rd5+{4 * (k.count % 1000)}], {last[-1]}")
            continue
        else:
            to = k.register()
            k.operation(to, *k.random.sample(last, 2))
        last = (last + [to])[-20:]
    k.emit(f"xor.b32 %r3, {last[0]}, {last[-1]}", f"xor.b32 %r4, {last[1]}, {last[-2]}")


def pressure(k):
    """Large blocks: two hundred values loaded, then combined from the far ends."""
    while not k.full():
        values = [k.register() for _ in range(200)]
        for i, value in enumerate(values):
            k.emit(f"ld.global.u32 {value}, [%rd4+{4 * i}]")
        while len(values) > 1:
            to = k.register()
            k.operation(to, values.pop(0), values.pop())
            values.insert(len(values) // 2, to)
        k.emit(f"xor.b32 %r3, %r3, {values[0]}", "st.global.u32 [%rd5+8], %r3")


def floats(k):
    """Chains of multiplications and additions in floating point, four at a time."""
    chains = []
    for i in range(4):
        chains.append(f"%f{next(k.registers)}")
        k.emit(f"ld.global.f32 {chains[i]}, [%rd4+{8 + 4 * i}]")
    while not k.full():
        i = k.count % 4
        to = f"%f{next(k.registers)}"
        k.emit(f"fma.rn.f32 {to}, {chains[i]}, {chains[(i + 1) % 4]}, {chains[(i + 2) % 4]}")
        chains[i] = to
    for chain in chains:
        k.emit(f"mov.b32 %r4, {chain}", "xor.b32 %r3, %r3, %r4")


def work(k, count):
    for i in range(count):
        to, other = ("%r3", "%r4") if i % 2 else ("%r4", "%r3")
        k.operation(to, to, other if i % 3 else "%r2")


def branch(k, to, condition="lt"):
    p = k.predicate()
    k.emit(f"setp.{condition}.s32 {p}, %r3, {k.random.randrange(1000)}", f"@{p} bra {to}")


def branches(k):
    """Branches one behind the other with two sides of a few instructions, a store among them."""
    while not k.full():
        other, meet = k.new_label(), k.new_label()
        branch(k, other)
        work(k, 3)
        k.emit("st.global.u32 [%rd5+16], %r3", f"bra {meet}")
        k.label(other)
        work(k, 4)
        k.emit("st.global.u32 [%rd5+20], %r4")
        k.label(meet)


def loops(k):
    """Loops one behind the other; how often they run is not known."""
    while not k.full():
        top = k.new_label()
        i, p = k.register(), k.predicate()
        k.emit(f"mov.u32 {i}, 0")
        k.label(top)
        work(k, 6)
        k.emit(f"st.global.u32 [%rd5+12], {i}", f"add.s32 {i}, {i}, 1", f"setp.lt.s32 {p}, {i}, %r1", f"@{p} bra {top}")


def nests(k):
    """Nests of loops, ten deep, with a branch in the innermost."""
    while not k.full():
        tops = []
        for _ in range(10):
            top, i = k.new_label(), k.register()
            k.emit(f"mov.u32 {i}, 0")
            k.label(top)
            work(k, 2)
            tops.append((top, i))
        skip = k.new_label()
        branch(k, skip)
        k.emit("st.global.u32 [%rd5+12], %r3")
        k.label(skip)
        for top, i in reversed(tops):
            p = k.predicate()
            k.emit(f"add.s32 {i}, {i}, 1", f"setp.lt.s32 {p}, {i}, %r1", f"@{p} bra {top}")


def deep(k):
    """Branches within branches: as many levels as a fiftieth of the size."""
    meets = []
    while not k.full():
        meet = k.new_label()
        branch(k, meet)
        work(k, 22)
        k.emit("st.global.u32 [%rd5+16], %r3")
        meets.append(meet)
        k.count += 25  # what stands behind its meeting
    for meet in reversed(meets):
        k.label(meet)
        work(k, 24)
        k.emit("st.global.u32 [%rd5+20], %r4")


def continues(k):
    """Loops with several ways to the next round and one out of the middle."""
    while not k.full():
        top, out = k.new_label(), k.new_label()
        i = k.register()
        k.emit(f"mov.u32 {i}, 0")
        k.label(top)
        k.emit(f"add.s32 {i}, {i}, 1")
        work(k, 3)
        branch(k, top)
        work(k, 3)
        branch(k, out, "eq")
        k.emit("st.global.u32 [%rd5+12], %r3")
        p = k.predicate()
        k.emit(f"setp.lt.s32 {p}, {i}, %r1", f"@{p} bra {top}")
        k.label(out)


def forward(k):
    """Small blocks, each of which ends in a branch on loaded data to one of the next fifty; the data differ between threads in half of them."""
    count = k.size // 7
    names = [k.new_label() for _ in range(count + 1)]
    for i, name in enumerate(names[:-1]):
        k.label(name)
        value, p, base = k.register(), k.predicate(), ("%rd1", "%rd4")[i % 2]
        k.emit(f"ld.global.u32 {value}, [{base}+{4 * (i % 512)}]", f"add.u32 %r3, %r3, {value}", "xor.b32 %r4, %r4, %r3",
               "mad.lo.u32 %r3, %r3, 3, %r4", f"st.global.u32 [%rd5+{4 * (i % 512)}], %r3")
        target = names[min(i + 1 + k.random.randrange(50), count)]
        k.emit(f"setp.gt.u32 {p}, {value}, {i}", f"@{p} bra {target}")
    k.label(names[-1])


SHAPES = {f.__name__: f for f in (straight, pressure, floats, branches, loops, nests, deep, continues, forward)}


def kernel(shape, size):
    """The PTX of one kernel."""
    k = Kernel(size)
    SHAPES[shape](k)
    return k.text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the shapes")
    parser.add_argument("shape", nargs="?", choices=SHAPES)
    parser.add_argument("instructions", nargs="?", type=int, default=1000)
    options = parser.parse_args()
    if options.list or not options.shape:
        print("".join(f"{name:10} {shape.__doc__}\n" for name, shape in SHAPES.items()), end="")
    else:
        sys.stdout.write(kernel(options.shape, options.instructions))


if __name__ == "__main__":
    main()

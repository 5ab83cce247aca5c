#!/usr/bin/env python3
"""Compares the code of short PTX sequences with that of ptxas: what peephole optimizations are missing.

    idioms.py --orias BINARY --ptxas PROGRAM --nvdisasm PROGRAM [--count N] [--seed N] [--show N] [--keep FOLDER]

Each kernel loads up to three values, applies an operation to one or two of them, a second one to the result, and stores what
comes out. All pairs of the operations below are in the list; --count kernels of it are taken (default 2000, chosen by --seed).
The cost of a kernel is the number of instructions up to the first EXIT without loads, stores, branches and reads of parameters;
an instruction of the units for f64 and for functions counts as four. Prints, for each operation, in how many kernels with it
ours costs more, and the --show worst of these (default 3 per operation). Exits with 0: this is a list of work, not a test.
"""

import argparse
import collections
import itertools
import pathlib
import random
import re
import subprocess
import tempfile

# Registers by the letter of their names: b32, f32, f64, b64, b16, predicate.
LOADS = {"r": "b32", "f": "f32", "d": "f64", "l": "b64", "h": "b16", "p": "b32"}
PER_FILE = 500

# name: operation with d (result), a and b (sources), each a letter of LOADS; the letters follow the name.
OPERATIONS = """
{op} r r r | {op} {d},{a},{b}; | add.s32 sub.s32 mul.lo.s32 and.b32 or.b32 xor.b32 min.s32 max.u32 mul.hi.u32 shl.b32 shr.u32
{op} r r r | {op} {d},{a},{b}; | add.f16x2 mul.f16x2 max.f16x2 add.bf16x2 mul.bf16x2
{op} r r | {op} {d},{a}; | not.b32 neg.s32 abs.s32 popc.b32 clz.b32 brev.b32 neg.f16x2 cvt.s32.s8 cvt.u32.u8 cvt.s32.s16
{op}_{c} r r | {op} {d},{a},{c}; | shl.b32 shr.u32 shr.s32 | 1 8 16 24
{op}_{c} r r | {op} {d},{a},{c}; | add.s32 and.b32 mul.lo.s32 | 1 -1 10 255 65535
bfe r r | bfe.u32 {d},{a},8,8; |
bfi r r r | bfi.b32 {d},{a},{b},8,8; |
prmt r r r | prmt.b32 {d},{a},{b},0x5410; |
mad r r r | mad.lo.s32 {d},{a},9,{b}; |
setp.{op} p r r | setp.{op} {d},{a},{b}; | lt.s32 eq.s32 gt.u32
setp0.{op} p r | setp.{op} {d},{a},0; | lt.s32 eq.s32 ge.s32
selp r p r | selp.b32 {d},{b},7,{a}; |
selp01 r p | selp.b32 {d},1,0,{a}; |
selpf f p f | selp.f32 {d},{b},0f00000000,{a}; |
{op} p p p | {op} {d},{a},{b}; | and.pred or.pred xor.pred
{op} f f f | {op} {d},{a},{b}; | add.f32 sub.f32 mul.f32 min.f32 max.f32 add.ftz.f32 add.sat.f32 div.full.f32
{op}_{c} f f | {op} {d},{a},{c}; | mul.f32 add.f32 max.f32 | 0f00000000 0f3F000000 0fBF800000 0f3F800000
fma f f f | fma.rn.f32 {d},{a},{b},{b}; |
fma2 f f f | fma.rn.f32 {d},{b},0f40000000,{a}; |
{op} f f | {op} {d},{a}; | neg.f32 abs.f32 sqrt.approx.f32 rcp.approx.ftz.f32 ex2.approx.ftz.f32 lg2.approx.f32 cvt.rmi.f32.f32
setp.{op} p f f | setp.{op} {d},{a},{b}; | lt.f32 eq.f32 neu.f32
{op} d d d | {op} {d},{a},{b}; | add.f64 sub.f64 mul.f64 max.f64
{op} d d | {op} {d},{a}; | neg.f64 abs.f64
fma.f64 d d d | fma.rn.f64 {d},{a},{b},{b}; |
{op} l l l | {op} {d},{a},{b}; | add.s64 sub.s64 and.b64 xor.b64 min.s64 mul.lo.s64
{op}_{c} l l | {op} {d},{a},{c}; | shl.b64 shr.u64 shr.s64 add.s64 mul.lo.s64 | 1 16 32
{op} l l | {op} {d},{a}; | neg.s64 not.b64 abs.s64
setp.{op} p l l | setp.{op} {d},{a},{b}; | lt.s64 eq.s64
{op} l r r | {op} {d},{a},{b}; | mul.wide.s32
{op}_{c} l r | {op} {d},{a},{c}; | mul.wide.s32 mul.wide.u32 | 4 12
pack l r r | mov.b64 {d},{{a},{b}}; |
{op} l r | {op} {d},{a}; | cvt.s64.s32 cvt.u64.u32
{op} r l | {op} {d},{a}; | cvt.u32.u64
{op} f r | {op} {d},{a}; | cvt.rn.f32.s32 cvt.rn.f32.u32 mov.b32
{op} r f | {op} {d},{a}; | cvt.rzi.s32.f32 mov.b32 cvt.rzi.u8.f32
{op} d f | {op} {d},{a}; | cvt.f64.f32
{op} f d | {op} {d},{a}; | cvt.rn.f32.f64
{op} f h | {op} {d},{a}; | cvt.f32.f16 cvt.f32.bf16
{op} h f | {op} {d},{a}; | cvt.rn.f16.f32 cvt.rn.bf16.f32
packh r f f | cvt.rn.f16x2.f32 {d},{a},{b}; |
{op} h h h | {op} {d},{a},{b}; | add.f16 mul.f16 max.f16 add.s16
{op} h h | {op} {d},{a}; | neg.f16 abs.f16
setp.{op} p h h | setp.{op} {d},{a},{b}; | lt.f16 lt.s16
{op} r h | {op} {d},{a}; | cvt.s32.s16 cvt.u32.u16
"""

Operation = collections.namedtuple("Operation", "name text result sources")


def filled(text, values):
    """The text with {name} replaced by what `values` has for the name."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def operations():
    """The table's lines, once for each of the opcodes and constants behind them."""
    for line in OPERATIONS.strip().splitlines():
        head, text, *lists = [part.strip() for part in line.split("|")]
        name, result, *sources = head.split()
        for values in itertools.product(*[part.split() or [""] for part in lists]):
            known = dict(zip(("op", "c"), values))
            yield Operation(filled(name, known), filled(text, known), result, sources)


def pairs():
    """Two operations, and which source of the second is the result of the first."""
    every = list(operations())
    for first, second in itertools.product(every, every):
        for at, letter in enumerate(second.sources):
            if letter == first.result:
                yield first, second, at


def kernel(name, first, second, at):
    """The text of one kernel."""
    loads, number = [], itertools.count(1)

    def source(letter):
        n = next(number)
        place = f"[%base+{8 * n}]"
        if letter == "p":
            loads.append(f"ld.global.b32 %test, {place};\nsetp.ne.s32 %p{n}, %test, 0;")
        else:
            loads.append(f"ld.global.{LOADS[letter]} %{letter}{n}, {place};")
        return f"%{letter}{n}"

    inner = f"%{first.result}7"
    lines = [filled(first.text, {"d": inner, **dict(zip("ab", [source(s) for s in first.sources]))})]
    given = [inner if i == at else source(s) for i, s in enumerate(second.sources)]
    lines.append(filled(second.text, {"d": f"%{second.result}8", **dict(zip("ab", given))}))
    stored = f"%{second.result}8"
    if second.result == "p":
        lines.append("selp.b32 %test, 3, 5, %p8;")
        stored = "%test"
    registers = "".join(f".reg .{'pred' if x == 'p' else LOADS[x]} %{x}<9>; " for x in LOADS)
    body = "\n".join([*loads, *lines, f"st.global.{LOADS[second.result]} [%base+64], {stored};"])
    return (f".visible .entry {name}(.param .u64 at) {{\n{registers}.reg .b64 %base, %own; .reg .b32 %test, %lane;\n"
            "ld.param.u64 %base, [at];\ncvta.to.global.u64 %base, %base;\nmov.u32 %lane, %tid.x;\n"
            f"mul.wide.u32 %own, %lane, 128;\nadd.s64 %base, %base, %own;\n{body}\nret;\n}}\n")


BESIDE = re.compile(r"^(@!?U?P\d )?(LDG|STG|EXIT|BRA|NOP|LDC|ULDC|S2R)|c\[0x0\]")
SLOW = re.compile(r"^(@!?U?P\d )?(D(FMA|ADD|MUL|SETP)|MUFU|F2F|I2F\.|F2I|POPC|FLO|BREV)")


def code(nvdisasm, cubin):
    """The instructions of each kernel up to its first EXIT, without those that are beside the point."""
    listing = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=True).stdout
    kernels, name, is_over = {}, None, False
    for line in listing.splitlines():
        if found := re.match(r"\.text\.(\S+):", line.strip()):
            name, is_over = found[1], False
            kernels[name] = []
        elif name and (found := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", line)):
            text = re.sub(r"\s+", " ", found[1].strip())
            is_over = is_over or text.startswith("EXIT")
            if not is_over and not BESIDE.search(text):
                kernels[name].append(text)
    return kernels


def cost(instructions):
    return sum(4 if SLOW.match(text) else 1 for text in instructions)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("orias", "ptxas", "nvdisasm"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    chosen = list(pairs())
    random.Random(given.seed).shuffle(chosen)
    chosen = chosen[:given.count]
    ours, theirs = {}, {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for first in range(0, len(chosen), PER_FILE):
            ptx = folder / f"idioms{first // PER_FILE:02}.ptx"
            text = "".join(kernel(f"k{n}", *chosen[n]) for n in range(first, min(first + PER_FILE, len(chosen))))
            ptx.write_text(f".version 8.5\n.target sm_90\n.address_size 64\n{text}")
            for program, into in ((given.orias, ours), (given.ptxas, theirs)):
                cubin = str(ptx.with_suffix(".cubin"))
                subprocess.run([program, "-arch=sm_90", ptx, "-o", cubin], check=True)
                into.update(code(given.nvdisasm, cubin))
    longer, shorter, by = [], 0, collections.Counter()
    for n, (first, second, _) in enumerate(chosen):
        difference = cost(ours[f"k{n}"]) - cost(theirs[f"k{n}"])
        shorter += difference < 0
        if difference > 0:
            longer.append((difference, n))
            by.update({first.name, second.name})
    totals = [sum(map(cost, kernels.values())) for kernels in (ours, theirs)]
    print(f"{len(chosen)} kernels: cost {totals[0]} and {totals[1]} (ptxas), ours more in {len(longer)}, less in {shorter}")
    print(", ".join(f"{name} {count}" for name, count in by.most_common(40)))
    shown = collections.Counter()
    for difference, n in sorted(longer, reverse=True):
        first, second, _ = chosen[n]
        if min(shown[first.name], shown[second.name]) >= given.show:
            continue
        shown.update({first.name, second.name})
        print(f"\n+{difference}: {first.name}, then {second.name}\n  ours  {' | '.join(ours[f'k{n}'])}"
              f"\n  ptxas {' | '.join(theirs[f'k{n}'])}")


if __name__ == "__main__":
    main()

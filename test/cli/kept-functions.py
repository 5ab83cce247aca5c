"""Writes PTX in which each of N functions calls the next one twice, and launches of its two kernels.

    python3 kept-functions.py N PTX [LAUNCH_OF_K LAUNCH_OF_APART]
"""

import json
import sys

LANES = 32
STEP = 1


def program(levels):
    """The PTX."""
    lines = [
        ".version 8.0\n.target sm_90\n.address_size 64",
        f".const .align 4 .u32 step = {STEP};\n.shared .align 4 .u32 slot[{LANES}];",
    ]
    for i in reversed(range(levels)):
        lines += [
            f".func (.param .b32 result) f{i}(.param .b32 a) {{ .reg .b32 %r<9>;",
            " ld.param.u32 %r1, [a]; ld.const.u32 %r7, [step];",
            f" mad.lo.s32 %r2, %r1, {2 * i + 3}, {i};",
        ]
        lines += [f" xor.b32 %r2, %r2, {77 * i + n}; add.s32 %r2, %r2, %r7;" for n in range(10)]
        if i + 1 < levels:
            lines += 2 * [
                " { .param .b32 p; .param .b32 q; st.param.b32 [p], %r2;",
                f" call.uni (q), f{i + 1}, (p); ld.param.b32 %r3, [q]; add.s32 %r2, %r2, %r3; }}",
            ]
        else:  # counts its calls
            lines += [
                " mov.u32 %r4, %tid.x; mov.u32 %r5, slot; mad.lo.u32 %r5, %r4, 4, %r5; ld.shared.u32 %r6, [%r5];",
                " add.u32 %r6, %r6, 1; st.shared.u32 [%r5], %r6;",
            ]
        lines.append(" st.param.b32 [result], %r2; ret; }")
    lines += [
        ".visible .entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<4>;",
        " ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r5, slot; mad.lo.u32 %r5, %r1, 4, %r5;",
        " mov.u32 %r6, 0; st.shared.u32 [%r5], %r6;",
        " { .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call.uni (q), f0, (p); ld.param.b32 %r2, [q]; }",
        " mul.wide.u32 %rd2, %r1, 8; add.s64 %rd1, %rd1, %rd2; ld.shared.u32 %r6, [%r5];",
        " st.global.u32 [%rd1], %r2; st.global.u32 [%rd1+4], %r6; ret; }",
        ".visible .entry apart(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<4>; .shared .u32 own[64];",
        " ld.param.u64 %rd1, [out]; mov.u32 %r1, 5; st.shared.u32 [own+8], %r1; ld.shared.u32 %r2, [own+8];",
        " st.global.u32 [%rd1], %r2; ret; }",
    ]
    return "\n".join(lines) + "\n"


def result(levels, i, a):
    """What function i returns."""
    mask = 0xFFFFFFFF
    a = (a * (2 * i + 3) + i) & mask
    for n in range(10):
        a = ((a ^ (77 * i + n)) + STEP) & mask
    if i + 1 < levels:
        for _ in range(2):
            a = (a + result(levels, i + 1, a)) & mask
    return a


def launch(kernel, ptx, expected):
    return {
        "file": ptx,
        "kernel": kernel,
        "grid": 1,
        "block": LANES,
        "buffers": [{"name": "out", "type": "u32", "count": len(expected), "init": 0, "expected": expected}],
        "arguments": [{"buffer": "out"}],
    }


def main():
    levels, ptx = int(sys.argv[1]), sys.argv[2]
    with open(ptx, "w") as file:
        file.write(program(levels))
    if len(sys.argv) < 5:
        return
    expected = []
    for lane in range(LANES):
        expected += [result(levels, 0, lane), 2 ** (levels - 1)]
    for path, data in ((sys.argv[3], launch("k", ptx, expected)), (sys.argv[4], launch("apart", ptx, [5]))):
        with open(path, "w") as file:
            json.dump(data, file)


main()

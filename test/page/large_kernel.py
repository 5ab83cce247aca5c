"""Prints a PTX kernel of about so many instructions: loops, loads, arithmetic on many values that live long."""

import random
import sys


def kernel(count, name="large"):
    rng = random.Random(7)
    lines, left = [], count
    loop = 0
    while left > 0:
        loop += 1
        body = min(left, 400)
        left -= body
        lines += [f"  mov.u32 %i, 0;", f"loop{loop}:"]
        for k in range(body // 4):
            a, b, c = (rng.randrange(40) for _ in range(3))
            lines += [f"  ld.global.f32 %x{c}, [%in + {4 * rng.randrange(4096)}];", f"  fma.rn.f32 %f{a}, %x{c}, %f{b}, %f{a};",
                      f"  mul.f32 %f{b}, %f{b}, %x{a};", f"  add.f32 %f{c}, %f{c}, %f{a};"]
        lines += ["  add.u32 %i, %i, 1;", "  setp.lt.u32 %more, %i, %n;", f"  @%more bra loop{loop};"]
    stores = [f"  st.global.f32 [%out + {4 * i}], %f{i};" for i in range(40)]
    start = [f"  mov.f32 %f{i}, 0f3F80{i:04X};" for i in range(40)] + [f"  mov.f32 %x{i}, 0f3F00{i:04X};" for i in range(40)]
    return "\n".join([".version 8.0", ".target sm_80", ".address_size 64", f".visible .entry {name}(.param .u64 in, .param .u64 out, .param .u32 count)",
                      "{", "  .reg .f32 %f<40>, %x<40>;", "  .reg .b64 %in, %out;", "  .reg .u32 %i, %n;", "  .reg .pred %more;",
                      "  ld.param.u64 %in, [in];", "  ld.param.u64 %out, [out];", "  ld.param.u32 %n, [count];"] + start + lines + stores + ["  ret;", "}", ""])


if __name__ == "__main__":
    print(kernel(int(sys.argv[1])))

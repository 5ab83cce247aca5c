#!/usr/bin/env python3
"""Writes the malformed inputs: PTX that an assembler must refuse, politely and soon.

    generate.py DIR        writes one file per case into DIR and prints how many
    generate.py --list     prints the names of the cases

The cases are the same in every run and on every machine. ptxas 13.0 refuses them for sm_90 too, but for three arrays whose size
overflows, which it accepts, and three files on which it does not finish.
"""
import argparse
import pathlib
import random

import statements

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n\n"
SEED = 20240229

# A file without faults, which truncation and mutation spoil.
SAMPLE = HEADER + """.const .f32 weights[4] = { 1.0, 0.5, 0f3E800000, -2.5e-1 };
.global .align 8 .b8 buffer[64] = { 1, 2, 3 };

.func (.param .b32 result) scaled(.param .b32 x)
{
  .reg .u32 %r<3>;
  ld.param.b32 %r1, [x];
  mul.lo.u32 %r2, %r1, 3;
  st.param.b32 [result], %r2;
  ret;
}

.visible .entry sample(.param .u64 in, .param .u64 out, .param .u32 n)
.maxntid 128, 1, 1
{
  .shared .align 16 .b8 tile[512];
  .reg .u64 %rd<6>;
  .reg .u32 %r<12>;
  .reg .f32 %f<4>;
  .reg .pred %p<3>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra done;
  mad.wide.u32 %rd3, %r2, 16, %rd1;
  ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd3];
loop:
  add.u32 %r3, %r3, %r4;
  xor.b32 %r5, %r5, 0x55;
  setp.lt.and.u32 %p2|%p1, %r3, 1000, %p1;
  @!%p2 bra loop;
  {
    .param .b32 argument;
    .param .b32 returned;
    st.param.b32 [argument], %r3;
    call.uni (returned), scaled, (argument);
    ld.param.b32 %r7, [returned];
  }
  ld.const.f32 %f1, [weights+8];
  cvt.rzi.u32.f32 %r8, %f1;
  st.shared.u32 [tile+16], %r8;
  bar.sync 0;
  atom.global.add.u32 %r9, [%rd2], %r7;
done:
  ret;
}
"""


def kernel(body):
    """A kernel with this body and every register that the bad statements name."""
    return HEADER + ".visible .entry k(.param .u64 out)\n{\n" + statements.REGISTERS + "  " + body + "\n  ret;\n}\n"


def module(directive):
    """A module with this directive and an empty kernel after it."""
    return HEADER + directive + "\n.visible .entry last()\n{\n  ret;\n}\n"


def single_faults():
    """One wrong statement or directive in a file that is otherwise right."""
    for group in ("instructions", "operands", "literals"):
        for i, line in enumerate(getattr(statements, "BAD_" + group.upper())):
            yield f"{group}-{i:02}", kernel(line)
    for i, line in enumerate(statements.BAD_DIRECTIVES):
        yield f"directives-{i:02}", module(line)
    for i, text in enumerate(statements.BAD_HEADERS):
        yield f"headers-{i:02}", text


def truncations():
    """The sample, cut somewhere before the brace that closes it."""
    end = SAMPLE.rindex("}")
    start = SAMPLE.index(".func")
    for i in range(20):
        yield f"truncated-{i:02}", SAMPLE[: start + 7 + (end - start - 7) * i // 20]


def mutations():
    """The sample without one of the characters that hold it together, or with one too many."""
    random_source = random.Random(SEED)
    body = SAMPLE.index(".func")
    for i, mark in enumerate(";,{}()[]|.@:"):
        places = [p for p in range(body, len(SAMPLE)) if SAMPLE[p] == mark]
        place = random_source.choice(places)
        if mark in ";,{}()[]@:":
            yield f"deleted-{i:02}", SAMPLE[:place] + SAMPLE[place + 1 :]
        yield f"doubled-{i:02}", SAMPLE[:place] + mark + SAMPLE[place:]


def unterminated():
    yield "comment", SAMPLE + "/* never closed"
    yield "comment-nested", "/* /* */ */" + SAMPLE
    yield "string-pragma", kernel('.pragma "never closed;')
    yield "string-file", HEADER + '.file 1 "never closed\n'


def deep_nesting():
    """Structures nested far deeper than any stack would like."""
    n = 100000
    yield "deep-braces", HEADER + ".entry k()\n" + "{" * n
    yield "deep-braces-closed", HEADER + ".entry k()\n" + "{" * n + "bad" + "}" * n
    yield "deep-parentheses", HEADER + ".global .u32 x = " + "(" * n + "1;"
    yield "deep-parentheses-closed", HEADER + ".global .u32 x = " + "(" * n + "bad" + ")" * n + ";"
    yield "deep-unary", HEADER + ".global .u32 x = " + "-~!" * n + ";"
    yield "deep-conditional", HEADER + ".global .u32 x = " + "1 ? " * n + ";"
    yield "deep-vectors", kernel("mov.b64 " + "{" * n + "%r1, %r2" + "}" * n + ", %rd1;")
    yield "deep-initialiser", HEADER + ".global .u32 x[4] = " + "{" * n + "1" + "}" * n + ";"
    yield "deep-dimensions", HEADER + ".global .u32 x" + "[2]" * n + ";"
    yield "deep-brackets", kernel("ld.global.u32 %r1, " + "[" * n + "%rd1" + "]" * n + ";")


def enormous():
    """Names, lines, lists and counts of absurd size."""
    n = 1000000
    yield "long-identifier", kernel("mov.u32 " + "a" * n + ", 1;")
    yield "long-opcode", kernel("add" + ".u32" * (n // 4) + " %r1, %r2, %r3;")
    yield "long-number", kernel("mov.u32 %r1, " + "9" * n + ";")
    yield "long-operands", kernel("add.u32 " + "%r1, " * (n // 5) + "%r1;")
    yield "long-line", HEADER + " " * n + "bad"
    yield "long-string", kernel('.pragma "' + "x" * n + ";")
    yield "many-errors", kernel("frobnicate.u32 %r1;\n" * 50000)
    yield "many-redeclared", kernel(".reg .u32 a;\n" * 50000)
    yield "many-labels", kernel("again: " * 50000)
    yield "many-semicolons", kernel(";" * n)
    yield "many-dots", HEADER + "." * n
    yield "huge-registers", kernel(".reg .b64 %x<2147483647>;\n  mov.u64 %x2147483648, 1;")
    yield "huge-registers-many", kernel(
        "".join(f".reg .b64 %x{i}_<4294967295>;\n" for i in range(2000)) + "mov.u64 %y, 1;"
    )
    yield "huge-array", HEADER + ".global .u64 x[9223372036854775807];\n"
    yield "huge-dimensions", HEADER + ".global .u8 x[2147483647][2147483647][2147483647][16];\n"
    yield "huge-offset", kernel("ld.global.u32 %r1, [%rd1+99999999999999999999];")
    yield "huge-alignment", HEADER + ".global .align 4294967296 .b8 x[4];\n"


def noise():
    """Bytes that are no PTX at all, or PTX with bytes in it that are no text."""
    random_source = random.Random(SEED + 1)
    for i in range(8):
        yield f"noise-{i}", bytes(random_source.randrange(256) for _ in range(16 << i))
    printable = [chr(c) for c in range(32, 127)] + ["\n"]
    for i in range(4):
        yield f"noise-printable-{i}", HEADER + "".join(random_source.choice(printable) for _ in range(200 << i))
    words = SAMPLE.split()
    for i in range(8):
        yield f"noise-words-{i}", HEADER + " ".join(random_source.choice(words) for _ in range(20 << i))
    middle = SAMPLE.index("mad.wide")
    before, after = SAMPLE[:middle].encode(), SAMPLE[middle:].encode()
    yield "nul-inside", before + b"\0" + after
    yield "nul-many", before + b"\0" * 100000 + after
    yield "nul-only", b"\0" * 4096
    yield "control-inside", before + b"\x01\x7f\x1b[31m" + after
    yield "high-inside", before + b"\xff\xfe\x80" + after
    yield "utf8-name", before + "mov.u32 größe, 1;".encode() + after
    yield "utf16", SAMPLE.encode("utf-16")
    yield "elf", b"\x7fELF\x02\x01\x01" + b"\0" * 57
    yield "gzip", b"\x1f\x8b\x08\x00" + bytes(random_source.randrange(256) for _ in range(500))


def cases():
    """All cases as (name, bytes), in a fixed order."""
    for group in (single_faults, truncations, mutations, unterminated, deep_nesting, enormous, noise):
        for name, content in group():
            yield name, content if isinstance(content, bytes) else content.encode()


def write(directory):
    """Writes every case into a directory; returns the paths."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in cases():
        paths.append(directory / (name + ".ptx"))
        paths[-1].write_bytes(content)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(name for name, _ in cases()))
    elif arguments.directory:
        print(len(write(arguments.directory)), "files")
    else:
        parser.error("a directory or --list is needed")


if __name__ == "__main__":
    main()

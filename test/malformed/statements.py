"""Statements and directives that are wrong, one a line: what the cases of generate.py are made of.

A statement stands in the body of a kernel that declares the registers of REGISTERS, a directive at module level.
"""

REGISTERS = """  .reg .u64 %rd<8>;
  .reg .u32 %r<8>;
  .reg .f32 %f<8>;
  .reg .f64 %d<4>;
  .reg .b16 %h<4>;
  .reg .pred %p<4>;
"""

# Opcodes, modifiers and types that do not exist or do not go together.
BAD_INSTRUCTIONS = """
frobnicate.u32 %r1, %r2;
add %r1, %r2, %r3;
add.u33 %r1, %r2, %r3;
add.pred %p1, %p2, %p3;
add.u32.u32.u32 %r1, %r2, %r3;
add.rn.u32 %r1, %r2, %r3;
add.b32 %r1, %r2, %r3;
mul.u32 %r1, %r2, %r3;
mul.lo.f32 %f1, %f2, %f3;
mul.wide.u64 %rd1, %rd2, %rd3;
mad.rn.u32 %r1, %r2, %r3, %r4;
fma.f32 %f1, %f2, %f3, %f4;
fma.rn.u32 %r1, %r2, %r3, %r4;
div.f32 %f1, %f2, %f3;
sqrt.f32 %f1, %f2;
rem.f32 %f1, %f2, %f3;
and.f32 %f1, %f2, %f3;
shl.f32 %f1, %f2, %r1;
shr.u32.s32 %r1, %r2, %r3;
not.f64 %d1, %d2;
neg.u32 %r1, %r2;
setp.foo.u32 %p1, %r1, %r2;
setp.lt %p1, %r1, %r2;
setp.lt.nand.u32 %p1, %r1, %r2, %p2;
cvt.u32.f32 %r1, %f1;
cvt.rn.u32.u32 %r1, %r2;
cvt.f32 %f1, %f2;
prmt.b32.xyz %r1, %r2, %r3, %r4;
bfe.b32 %r1, %r2, %r3, %r4;
popc.f32 %r1, %f1;
ld.globle.u32 %r1, [%rd1];
ld.global %r1, [%rd1];
ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];
ld.global.cx.u32 %r1, [%rd1];
st.const.u32 [%rd1], %r1;
atom.global.frob.b32 %r1, [%rd1], %r2;
atom.global.add.u16 %h1, [%rd1], %h2;
atom.const.add.u32 %r1, [%rd1], %r2;
red.global.exch.b32 [%rd1], %r2;
shfl.idx.b32 %r1, %r2, %r3, %r4;
shfl.sync.sideways.b32 %r1, %r2, 0, 31, -1;
vote.sync.most.pred %p1, %p2, -1;
bar.wait 0;
membar.universe;
fence.acquire_only.gpu;
isspacep.reg %p1, %rd1;
cvta.to.attic.u64 %rd1, %rd2;
""".split("\n")[1:-1]

# Operands that are missing, in excess, of the wrong kind, type or width.
BAD_OPERANDS = """
add.u32 %r1, %r2;
add.u32 %r1, %r2, %r3, %r4;
add.u32;
add.u32 %r1 %r2 %r3;
add.u32 %r1,, %r2, %r3;
add.u32 %r1, %r2, %r3,;
add.u32 5, %r1, %r2;
add.u32 %f1, %r1, %r2;
add.f32 %f1, %f2, %r1;
add.u32 %rd1, %r1, %r2;
add.u64 %rd1, %rd2, %r3;
add.u32 %r1, %r2, [%rd1];
add.u32 {%r1, %r2}, %r3, %r4;
add.u32 %r1, %r2, %nosuch;
add.u32 %r1, %r2, %r99;
add.u32 %r1, %r2, %p1;
setp.lt.u32 %r1, %r2, %r3;
selp.u32 %r1, %r2, %r3, %r4;
mov.u32 %r1, [%rd1];
mov.u32 %r1;
mov.u32 %r1, %tid;
mov.u32 %r1, %tid.q;
mov.u32 %tid.x, %r1;
mov.b64 {%r1, %r2, %r3}, %rd1;
mov.b32 {%r1, %r2}, %r3;
ld.global.u32 %r1, %rd1;
ld.global.u32 %r1, [%f1];
ld.global.u32 %r1, [%rd1+%r1];
ld.global.u32 %r1, [%rd1;
ld.global.u32 %r1, [];
ld.global.v2.u32 %r1, [%rd1];
ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];
ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd5];
ld.global.u32 {%r1, %r2}, [%rd1];
ld.global.u32 7, [%rd1];
st.global.u32 %rd1, %r1;
st.global.u32 [%rd1];
st.global.u32 [nowhere], %r1;
bra;
bra nowhere;
bra %r1;
bra 42;
call nofunction;
call (%r1), nofunction, (%r2);
bar.sync;
@%r1 ret;
@%p9 ret;
@%p1;
@ ret;
%r1 = 5;
ret %r1;
shfl.sync.idx.b32 %r1, %r2;
brx.idx %r1, nolist;
""".split("\n")[1:-1]

# Literals that no base, width or type makes sense of.
BAD_LITERALS = """
mov.u32 %r1, 0x;
mov.u32 %r1, 0b12;
mov.u32 %r1, 09;
mov.u32 %r1, 12abc;
mov.u32 %r1, 1.5;
mov.f32 %f1, 0f3F8;
mov.f32 %f1, 0fZZZZZZZZ;
mov.f64 %d1, 0d3FF;
mov.u32 %r1, 99999999999999999999999999;
mov.u32 %r1, 'a';
mov.u32 %r1, "text";
mov.u32 %r1, 1 +;
mov.u32 %r1, (1 + 2;
mov.u32 %r1, 1 / 0;
""".split("\n")[1:-1]

# Directives, declarations and initialisers at module level.
BAD_DIRECTIVES = """
.frobnicate 7;
.global;
.global u32 x;
.global .u32 x
.global .u32 7;
.global .u33 x;
.global .pred x;
.global .align 3 .u32 x;
.global .align 0 .u32 x;
.global .u32 x[;
.global .u32 x[-1];
.global .u32 x[2] = { 1, 2, 3 };
.global .u32 x = { 1, 2 };
.global .u32 x = unknown;
.global .u32 x = 1.5;
.global .u32 x[99999999999999999999999];
.global .u8 x[4294967296][4294967296][4294967296];
.global .u32 x; .global .u32 x;
.shared .u32 x = 1;
.reg .u32 %x;
.const .u8 x[100000];
.entry e() { .shared .b8 x[1073741824]; st.shared.u8 [x], 1; ret; }
.func (.param .u32 a, .param .u32 b) f() { ret; }
.func f() { ret; } .func f() { ret; }
.func f( { ret; }
.func f(.param .u32) { ret; }
.entry e() { ret; } .entry e() { ret; }
.entry e(.param .u32 a, .param .u32 a) { ret; }
.entry e(.reg .u32 a) { ret; }
.entry e(.param .b8 a[40000]) { ret; }
.entry e(.param .u32 a { ret; }
.entry (.param .u32 a) { ret; }
.entry e() .maxntid 1, 2, 3, 4 { ret; }
.entry e() .maxntid { ret; }
.entry e() .minnctapersm x { ret; }
.visible .visible .entry e() { ret; }
.entry e() { .entry g() { ret; } }
.entry e() { .func g() { ret; } }
.entry e() { ret; } }
.entry e() { { ret; }
.entry e() { .reg .u32 a; .reg .u64 a; ret; }
.entry e() { .reg .u32 a<4000000000000>; ret; }
.entry e() { .reg .u32 a<-3>; ret; }
.entry e() { .reg .u32 a<>; ret; }
.entry e() { .reg .v3 .u32 a; ret; }
.entry e() { .reg u32 a; ret; }
.entry e() { l: ret; l: ret; }
.entry e() { l ret; }
.entry e() { t: .branchtargets nowhere; ret; }
.entry e() { .pragma nounroll; ret; }
.entry e() { .shared .f32 x[2][; ret; }
.version 8.0
.address_size 64 .address_size 32
.target sm_9000
.file 1
.file "no number"
.section .debug_info { .b8 1, 2
.section { .b8 1 }
""".split("\n")[1:-1]

# What stands before everything else, whole files.
BAD_HEADERS = [
    "",
    "\n\n\n",
    "// nothing but a comment\n",
    ".version\n",
    ".version 8.0\n",
    ".version 8\n.target sm_90\n",
    ".version 99.9\n.target sm_90\n",
    ".version eight\n.target sm_90\n",
    ".target sm_90\n",
    ".target sm_90\n.version 8.0\n",
    ".version 8.0\n.target\n",
    ".version 8.0\n.target gpu\n",
    ".version 8.0\n.target sm_90, warp_speed\n",
    ".version 8.0\n.target sm_90\n.address_size 16\n",
    ".version 8.0\n.target sm_90\n.address_size\n",
    ".version 1.4\n.target sm_90\n.address_size 64\n",
    ".entry e() { ret; }\n",
]

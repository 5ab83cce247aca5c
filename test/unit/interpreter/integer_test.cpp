#include "run.h"

namespace orias::interp {

TEST_CASE("integer arithmetic wraps, saturates and carries") {
  CHECK(valueOf("add.u32 %r0, 0xffffffff, 2;") == 1);
  CHECK(valueOf("mov.u32 %r1, 0x7fffffff; add.sat.s32 %r0, %r1, 5;") == 0x7fffffff);
  CHECK(valueOf("mov.u32 %r1, 0xfffffff0; mul.hi.u32 %r0, %r1, 0x10;") == 15);
  CHECK(valueOf("mov.u32 %r1, -7; div.s32 %r0, %r1, 2;") == static_cast<std::uint32_t>(-3));
  CHECK(valueOf("mov.u32 %r1, -7; rem.s32 %r0, %r1, 2;") == static_cast<std::uint32_t>(-1));
  CHECK(valueOf("mov.u32 %r1, 0; div.u32 %r0, 5, %r1;") == 0xffffffff);
  CHECK(valueOf("add.cc.u32 %r1, 0xffffffff, 1; addc.u32 %r0, 3, 4;") == 8);
  CHECK(valueOf("sub.cc.u32 %r1, 0, 1; subc.u32 %r0, 10, 4;") == 5);
  CHECK(valueOf("mov.u32 %r1, -2; mov.u32 %r2, 3; mul.wide.s32 %rd1, %r1, %r2; mov.b64 {%r3, %r0}, %rd1;") ==
        0xffffffff);
}

TEST_CASE("bit fields, permutations and shifts") {
  CHECK(valueOf("mov.u32 %r1, 0xff800000; bfe.s32 %r0, %r1, 20, 8;") == 0xfffffff8);
  CHECK(valueOf("mov.u32 %r1, 0xabcd; bfi.b32 %r0, %r1, 0, 8, 8;") == 0xcd00);
  CHECK(valueOf("mov.u32 %r1, 0x00f00000; bfind.u32 %r0, %r1;") == 23);
  CHECK(valueOf("mov.u32 %r1, 0x33221100; mov.u32 %r2, 0x77665544; prmt.b32 %r0, %r1, %r2, 0x7531;") == 0x77553311);
  CHECK(valueOf("mov.u32 %r1, 1; shl.b32 %r0, %r1, 32;") == 0);
  CHECK(valueOf("mov.u32 %r1, 0x80000000; shr.s32 %r0, %r1, 40;") == 0xffffffff);
  CHECK(valueOf("mov.u32 %r1, 0xf0000000; mov.u32 %r2, 1; shf.l.wrap.b32 %r0, %r1, %r2, 36;") == 0x1f);
  CHECK(valueOf("mov.u32 %r1, 0xcc; mov.u32 %r2, 0xaa; mov.u32 %r3, 0xf0; lop3.b32 %r0, %r1, %r2, %r3, 0x80;") == 0x80);
}

} // namespace orias::interp

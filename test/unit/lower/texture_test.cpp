#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

// The last but one of the modifiers is the geometry: 0 a line, 1 a plane, 4 an array of lines.
TEST_CASE("a line is sampled as the first row of a plane, and fetched as a line") {
  const std::string sampled = lowered("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5}];");
  CAPTURE(sampled);
  CHECK(inOrder(sampled, {"TEX<0,3,0,0,1,0,0,1,15>"}));
  const std::string fetched = lowered("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r5}];");
  CAPTURE(fetched);
  CHECK(inOrder(fetched, {"TLD<0,1,0,1,0,0,0,0,15>"}));
  const std::string layered = lowered("tex.a1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%r5, %f5}];");
  CAPTURE(layered);
  CHECK(inOrder(layered, {"TEX<0,3,0,0,1,0,0,4,15>"}));
}

TEST_CASE("products of a warp group of bytes, bits, and sparse ones") {
  CHECK(inOrder(lowered("wgmma.mma_async.sync.aligned.m64n16k32.satfinite.s32.s8.u8 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, "
                        "%rd1, %rd2, 1;",
                        {}, "sm_90a"),
                {"IGMMA<3,1,0,1> %", "IADD3", "LOP3", "0x42", "0x7fffffff", "SEL"}));
  CHECK(inOrder(lowered("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 0, 1, -1;",
                        {}, "sm_90a"),
                {"QGMMA<0,1,0,1,0,1> %"}));
  CHECK(inOrder(
      lowered("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %r1, 1, 0, 1, 1, "
              "0, 1;",
              {}, "sm_90a"),
      {"HGMMA_SP<64,1,0", "!UPT, %", ", 1, 0"}));
}

TEST_CASE("sizes, gradients, texels") {
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; txq.height.b32 %r1, [%rd1];"), {"TXQ<"}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a];"
                        "tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}], {%f7,%f8}, {%f5,%f6};"),
                {"TXD"}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; sust.p.2d.v2.b32.clamp [%rd1, {%r1,%r2}], {%r3,%r4};"),
                {"SUST.P.2D.STRONG.SM.RG ["}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; sured.p.min.1d.b64.trap [%rd1, {%r1}], %rd2;"),
                {"SURED.D.1D.MIN.SD64.STRONG.SYS.TRAP ["}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; tex.1d.v2.f16x2.s32 {%r1,%r2}, [%rd1, {%r5}];"),
                {"TLD", "F2FP", "F2FP"}));
}

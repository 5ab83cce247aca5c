#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

// The last but one of the modifiers is the geometry: 0 a line, 1 a plane, 4 an array of lines.
TEST_CASE("a line is sampled as the first row of a plane, and fetched as a line") {
  const std::string sampled = lowered("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5}];");
  CAPTURE(sampled);
  CHECK(inOrder(sampled, {"TEX<0,0,3,0,0,1,0,0,1,15>"}));
  const std::string fetched = lowered("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r5}];");
  CAPTURE(fetched);
  CHECK(inOrder(fetched, {"TLD<0,0,1,0,1,0,0,0,0,15>"}));
  const std::string layered = lowered("tex.a1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%r5, %f5}];");
  CAPTURE(layered);
  CHECK(inOrder(layered, {"TEX<0,0,3,0,0,1,0,0,4,15>"}));
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

TEST_CASE("offsets of gathered texels have a byte each, others four bits") {
  const std::string gathered = lowered("tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}], {%r1,%r2};");
  CAPTURE(gathered);
  CHECK(inOrder(gathered, {"0x3f;", "LOP3", ", 8, RZ", "0x3f00;", "LOP3"}));
  const std::string constant = lowered("tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}], {-1,2};");
  CAPTURE(constant);
  CHECK(inOrder(constant, {"0x23f"}));
  CHECK(inOrder(lowered("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}], {-1,2};"), {"0x2f"}));
}

TEST_CASE("of a texture that is filtered by gradients the layer stands behind the coordinates") {
  const std::string text = lowered("tex.grad.a1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%f5}], {%f6}, {%f7};");
  CAPTURE(text);
  // The layer is made smaller than 65536 in a register of its own.
  const std::size_t made = text.find("VIMNMX.U32 %r");
  REQUIRE(made != std::string::npos);
  const std::string layer = text.substr(made + 11, text.find(",", made) - made - 11);
  CHECK(inOrder(text, {std::string(".1, ") + layer, "TXD<"}));
}

TEST_CASE("the number of a sample stands behind the offsets") {
  const std::string text = lowered("tex.2dms.v4.u32.s32 {%r1,%r2,%r3,%r4}, [%rd1, {%r5,%r6,%r7,%r7}], {1,1};");
  CAPTURE(text);
  CHECK(inOrder(text, {".0, 0x11", ".1, ", "TLD<"}));
}

// Modifiers: geometry, eviction, size, order (5: of the SM, 10: of the system), what is outside.
TEST_CASE("cache operators of surfaces") {
  const auto load = [](const std::string& cache) {
    return lowered("suld.b.1d" + cache + ".b32.trap %r1, [%rd1, {%r2}];");
  };
  CHECK(inOrder(load(".ca"), {"SULD<0,1,4,5,2>"}));
  CHECK(inOrder(load(".cg"), {"SULD<0,1,4,10,2>"}));
  CHECK(inOrder(load(".cs"), {"SULD<0,0,4,5,2>"}));
  CHECK(inOrder(load(".cv"), {"SULD<0,1,4,10,2>"}));
  CHECK(inOrder(lowered("sust.b.1d.wt.b32.trap [%rd1, {%r2}], %r1;"), {"SUST<0,1,4,10,2>"}));
}

TEST_CASE("sizes, gradients, texels") {
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; txq.height.b32 %r1, [%rd1];"), {"TXQ<"}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a];"
                        "tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5,%f6}], {%f7,%f8}, {%f5,%f6};"),
                {"TXD"}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; sust.p.2d.v2.b32.clamp [%rd1, {%r1,%r2}], {%r3,%r4};"),
                {"SUST_P<3,1,5,3,1> ["}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; sured.p.min.1d.b64.trap [%rd1, {%r1}], %rd2;"),
                {"SURED<0,0,1,1,7,10,2> ["}));
  CHECK(inOrder(lowered("ld.param.u64 %rd1, [a]; tex.1d.v2.f16x2.s32 {%r1,%r2}, [%rd1, {%r5}];"),
                {"TLD", "F2FP", "F2FP"}));
}

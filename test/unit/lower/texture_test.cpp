#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

// The penultimate modifier is the geometry: 0 a line, 1 a plane, 4 an array of lines.
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
                {"IGMMA<3,1,0,1> %", "], %", ":8"}));
  CHECK(inOrder(lowered("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%f1,%f2,%f3,%f4}, %rd1, %rd2, 0, 1, -1;",
                        {}, "sm_90a"),
                {"QGMMA<0,1,0,1,0,1> %"}));
  CHECK(inOrder(
      lowered("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %r1, 1, 0, 1, 1, "
              "0, 1;",
              {}, "sm_90a"),
      {"HGMMA_SP<64,1,0", "!UPT, %", ", 1"}));
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

TEST_CASE("of a texture that is filtered by gradients the layer follows the coordinates") {
  const std::string text = lowered("tex.grad.a1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%f5}], {%f6}, {%f7};");
  CAPTURE(text);
  // The layer is clamped below 65536 in a separate register.
  const std::size_t made = text.find("VIMNMX.U32 %r");
  REQUIRE(made != std::string::npos);
  const std::string layer = text.substr(made + 11, text.find(",", made) - made - 11);
  CHECK(inOrder(text, {std::string(".1, ") + layer, "TXD<"}));
}

TEST_CASE("the number of a sample follows the offsets") {
  const std::string text = lowered("tex.2dms.v4.u32.s32 {%r1,%r2,%r3,%r4}, [%rd1, {%r5,%r6,%r7,%r7}], {1,1};");
  CAPTURE(text);
  CHECK(inOrder(text, {".0, 0x11", ".1, ", "TLD<"}));
}

// Modifiers: geometry, eviction, size, order (5: SM, 10: system), mode for accesses outside.
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

TEST_CASE("derivatives that TXD does not take are the driver's from sm_90 on, and a quad's before") {
  const std::string statement =
      "ld.param.u64 %rd1, [a];"
      "tex.grad.3d.v4.u32.f32 {%r1,%r2,%r3,%r4}, [%rd1, {%f1,%f2,%f3,%f3}], {%f4,%f5,%f6,%f6}, {%f7,%f8,%f1,%f1};";
  const std::string called = lowered(statement);
  CAPTURE(called);
  CHECK(inOrder(called, {"extern \"__cuda_syscall_tex_grad_3d_v4_u32_f32\"", "STL", "STL", "STL", "CALL.EXTERN"}));
  const std::string quad = lowered(statement, {}, "sm_80");
  CAPTURE(quad);
  CHECK(inOrder(quad, {"TEX_QUAD<0,0,0,2>"}));
  const std::string all = lowered(
      "tex.grad.a2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%f5,%f6,%f6}], {%f7,%f8}, {%f5,%f6}, {1,-2}, %f1;", {},
      "sm_75");
  CAPTURE(all);
  CHECK(inOrder(all, {"0xe1", "TEX_QUAD<1,1,1,5>"})); // the handle and the offsets are in registers
  CHECK(inOrder(lowered("tex.grad.2d.v2.f16x2.f32 {%r1,%r2}|%p1, [%rd1, {%f5,%f6}], {%f7,%f8}, {%f5,%f6}, %f1;"),
                {"__cuda_syscall_tex_grad_pred_2d_v4_f16_f32_depth_compare", "ISETP.NE"}));
}

TEST_CASE("whether a texel is in memory is the opposite of what the instruction says") {
  const std::string text = lowered("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}|%p1, [%rd1, {%f5,%f6}];");
  CAPTURE(text);
  CHECK(inOrder(text, {"TEX<", " %p", "PLOP3", "!%p", "0xaa"}));
}

TEST_CASE("what the header of a texture does not contain is in a table of the driver's") {
  const std::string text = lowered("ld.param.u64 %rd1, [a]; txq.filter_mode.b32 %r1, [%rd1];");
  CAPTURE(text);
  CHECK(inOrder(text, {"driverword \".nv.unified.texrefDescSize\"", "ADDRESS", "IMAD", "0xf0", "LDG"}));
  const std::string older = lowered("ld.param.u64 %rd1, [a]; suq.array_size.b32 %r1, [%rd1];", {}, "sm_80");
  CAPTURE(older);
  CHECK(inOrder(older, {"driverword \".nv.surfrefDescSize\"", "0xfffff", "ADDRESS", "IMAD", "0x80", "LDG"}));
}

TEST_CASE("textures of the module have their handles after the parameters, each once") {
  const std::string text = lowered("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [img, {%f5,%f6}];"
                                   "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [img, {%f5,%f6}];"
                                   "suld.b.2d.b32.trap %r1, [surf, {%r2,%r3}];",
                                   ".global .texref img; .global .surfref surf;", "sm_80");
  CAPTURE(text);
  CHECK(inOrder(text, {"texture \"img\"", "surface \"surf\"", "handle", "offset 12;", "handle", "offset 16;"}));
  CHECK(text.find("offset 20;") == std::string::npos);
}

namespace {

std::string independent(std::string_view statements, const std::string& chip) {
  return lowered(statements, ".global .texref img; .global .samplerref rough; .global .samplerref fine;",
                 chip + ", texmode_independent");
}

} // namespace

TEST_CASE("before sm_90 a texture and its sampler share a word, from then on each has one") {
  const char* text = "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [img, fine, {%f5,%f6}];"
                     "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [img, rough, {%f5,%f6}];"
                     "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [img, fine, {%f5,%f6}];";
  const std::string older = independent(text, "sm_80"), newer = independent(text, "sm_90");
  CAPTURE(older);
  CHECK(inOrder(older, {"independentsamplers;", "handle 0 offset 12;", "handle 2 offset 12;", "handle 0 offset 16;",
                        "handle 1 offset 16;"}));
  CHECK(older.find("offset 20;") == std::string::npos);
  CAPTURE(newer);
  CHECK(inOrder(newer, {"handle 0 offset 12;", "handle 2 offset 16;", "handle 1 offset 20;"}));
  CHECK(newer.find("offset 24;") == std::string::npos);
}

TEST_CASE("handles of a texture and a sampler that are numbers become one word before sm_90") {
  const std::string text = independent("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, %rd2, {%f5,%f6}];", "sm_75");
  CAPTURE(text);
  CHECK(inOrder(text, {"SHF.L", "0x14, RZ", "LOP3", "0xfffff", "0xe2", "TEX_B<"}));
}

TEST_CASE("with samplers apart a line is a line, and integers are filtered but for lines and levels") {
  CHECK(inOrder(independent("tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [img, fine, {%f5}];", "sm_90"),
                {"TEX<0,0,3,0,0,1,0,0,0,15>"}));
  CHECK(inOrder(independent("tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [img, fine, {%r5}];", "sm_90"), {"TLD<"}));
  CHECK(
      inOrder(independent("tex.level.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [img, fine, {%r5,%r6}], 1;", "sm_90"), {"TLD<"}));
  const std::string plane = independent("tex.base.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [img, fine, {%r5,%r6}];", "sm_90");
  CAPTURE(plane);
  CHECK(inOrder(plane, {"I2FP", "I2FP", "TEX<0,0,3,"}));
}

TEST_CASE("what a query of a sampler reads is in a table of samplers") {
  CHECK(inOrder(independent("txq.filter_mode.b32 %r1, [fine];", "sm_90"),
                {"driverword \".nv.independent.samplerrefDescSize\"", "0xf8"}));
  const std::string older = independent("txq.filter_mode.b32 %r1, [fine];", "sm_75");
  CAPTURE(older);
  CHECK(inOrder(older, {"0x14", "SHF.R", "0x78", "LDG"}));
  CHECK(inOrder(independent("txq.channel_order.b32 %r1, [img];", "sm_75"),
                {"driverword \".nv.independent.texrefDescSize\"", "0xfffff", "0x70"}));
}

TEST_CASE("initial values of samplers are bytes in the order of their words") {
  CHECK(inOrder(
      lowered("",
              ".global .samplerref s = {addr_mode_0 = mirror, addr_mode_2 = clamp_to_border, filter_mode = linear, "
              "force_unnormalized_coords = 1};",
              "sm_90, texmode_independent"),
      {"sampler 0 modes 1 255 4 filter 1 unnormalized 1;"}));
  const auto begun = [](const std::string& with) {
    return lowered("", ".global .samplerref s = {" + with + "};", "sm_90, texmode_independent");
  };
  CHECK(inOrder(begun("addr_mode_1 = 3"), {"sampler 0 modes 255 3 255 filter 255;"}));
  CHECK(inOrder(begun("addr_mode_1 = 5"), {"'addr_mode_1' of 's' has no such value"}));
  CHECK(inOrder(begun("filter_mode = wrap"), {"'filter_mode' of 's' has no such value"}));
}

TEST_CASE("offsets stand beside the layer where derivatives are given") {
  const std::string layers = lowered("tex.grad.a2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%f5,%f6,%f6}], {%f7,%f8}, "
                                     "{%f5,%f6}, {1,-1};");
  CAPTURE(layers);
  CHECK(inOrder(layers, {"0xfff0000", "0xe2", "TXD<1,"}));
}

TEST_CASE("handles have their kinds in the upper word, and a mark before sm_90") {
  CHECK(inOrder(lowered("mov.u64 %rd1, img;", ".global .texref img;"), {"0x20000000"}));
  const std::string older = lowered("mov.u64 %rd1, img;", ".global .surfref img;", "sm_75");
  CAPTURE(older);
  CHECK(inOrder(older, {"0x80000000", "LOP3", "0x80000000", "0xfc"}));
}

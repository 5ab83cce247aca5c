#include "run.h"

namespace orias::interp {

namespace {

/// The result of `op` on %r1 and %r2, with values `a` and `b`.
std::uint32_t of(const std::string& op, std::uint32_t a, std::uint32_t b = 0, const std::string& target = "sm_90a") {
  return valueOf("mov.b32 %r1, " + std::to_string(a) + "; mov.b32 %f1, %r1; mov.b32 %r2, " + std::to_string(b) +
                     "; mov.b32 %f2, %r2;" + op + ";",
                 target);
}

} // namespace

TEST_CASE("integers change their width, extend their sign and saturate") {
  CHECK(of("cvt.s32.s8 %r0, %r1", 0x1280) == 0xffffff80);
  CHECK(of("cvt.u32.u8 %r0, %r1", 0x1280) == 0x80);
  CHECK(of("cvt.s8.s32 %r0, %r1", 0x180) == 0xffffff80);
  CHECK(of("cvt.u8.s32 %r0, %r1", 0xffffffff) == 0xff);
  CHECK(of("cvt.sat.u8.s32 %r0, %r1", 0xffffffff) == 0);
  CHECK(of("cvt.sat.s8.s32 %r0, %r1", 1000) == 127);
  CHECK(of("cvt.sat.s8.s32 %r0, %r1", static_cast<std::uint32_t>(-1000)) == 0xffffff80);
  CHECK(of("cvt.sat.s32.u32 %r0, %r1", 0xffffffff) == 0x7fffffff);
  CHECK(of("cvt.s64.s32 %rd1, %r1; mov.b64 {%r3, %r0}, %rd1", 0x80000000) == 0xffffffff);
  CHECK(of("cvt.u64.u32 %rd1, %r1; mov.b64 {%r3, %r0}, %rd1", 0x80000000) == 0);
  CHECK(of("cvt.u64.u32 %rd1, %r1; shl.b64 %rd1, %rd1, 8; cvt.sat.u32.u64 %r0, %rd1", 0x80000000) == 0xffffffff);
  CHECK(of("cvt.s16.s8 %h0, %r1; cvt.u32.u16 %r0, %h0", 0x80) == 0xff80);
}

TEST_CASE("floating-point numbers become integers, rounded and clamped") {
  constexpr std::uint32_t kTwoAndHalf = 0x40200000, kMinusTwoAndHalf = 0xc0200000;
  CHECK(of("cvt.rni.s32.f32 %r0, %f1", kTwoAndHalf) == 2);
  CHECK(of("cvt.rzi.s32.f32 %r0, %f1", kMinusTwoAndHalf) == static_cast<std::uint32_t>(-2));
  CHECK(of("cvt.rmi.s32.f32 %r0, %f1", kMinusTwoAndHalf) == static_cast<std::uint32_t>(-3));
  CHECK(of("cvt.rpi.s32.f32 %r0, %f1", kTwoAndHalf) == 3);
  CHECK(of("cvt.rzi.u32.f32 %r0, %f1", kMinusTwoAndHalf) == 0);
  CHECK(of("cvt.rzi.u32.f32 %r0, %f1", 0x7f800000) == 0xffffffff);
  CHECK(of("cvt.rzi.s32.f32 %r0, %f1", 0xff800000) == 0x80000000);
  CHECK(of("cvt.rzi.s32.f32 %r0, %f1", 0x7fc00000) == 0);
  CHECK(of("cvt.rzi.s64.f32 %rd1, %f1; mov.b64 {%r3, %r0}, %rd1", 0x7fc00000) == 0x80000000);
  CHECK(of("cvt.f64.f32 %d1, %f1; cvt.rzi.s32.f64 %r0, %d1", 0x7fc00000) == 0x80000000);
  CHECK(of("cvt.rpi.s32.f32 %r0, %f1", 1) == 1);
  CHECK(of("cvt.rpi.ftz.s32.f32 %r0, %f1", 1) == 0);
  CHECK(of("cvt.rni.s8.f32 %r0, %f1", 0xc3960000) == 0xffffff80); // -300
}

TEST_CASE("integers become floating-point numbers") {
  CHECK(of("cvt.rn.f32.u32 %f0, %r1; mov.b32 %r0, %f0", 0xffffffff) == 0x4f800000);
  CHECK(of("cvt.rz.f32.u32 %f0, %r1; mov.b32 %r0, %f0", 0xffffffff) == 0x4f7fffff);
  CHECK(of("cvt.rn.f32.s32 %f0, %r1; mov.b32 %r0, %f0", 0xffffffff) == 0xbf800000);
  CHECK(of("cvt.rn.f32.s8 %f0, %r1; mov.b32 %r0, %f0", 0x1ff) == 0xbf800000);
  CHECK(of("cvt.rn.sat.f32.s32 %f0, %r1; mov.b32 %r0, %f0", 7) == 0x3f800000);
  CHECK(of("cvt.rn.f64.s32 %d0, %r1; mov.b64 {%r3, %r0}, %d0", 0x80000000) == 0xc1e00000);
  CHECK(of("cvt.s64.s32 %rd1, %r1; cvt.rn.f64.s64 %d0, %rd1; mov.b64 {%r3, %r0}, %d0", 3) == 0x40080000);
  CHECK(of("cvt.rn.f16.u32 %h0, %r1; cvt.u32.u16 %r0, %h0", 65536) == 0x7c00);
  CHECK(of("cvt.rz.f16.u32 %h0, %r1; cvt.u32.u16 %r0, %h0", 65536) == 0x7bff);
}

TEST_CASE("floating-point numbers change their format") {
  CHECK(of("cvt.f64.f32 %d0, %f1; mov.b64 {%r3, %r0}, %d0", 0x3fc00000) == 0x3ff80000);
  CHECK(valueOf("mov.f64 %d1, 0d3FF0000010000000; cvt.rn.f32.f64 %f0, %d1; mov.b32 %r0, %f0;") == 0x3f800000);
  CHECK(valueOf("mov.f64 %d1, 0d3FF0000010000000; cvt.rp.f32.f64 %f0, %d1; mov.b32 %r0, %f0;") == 0x3f800001);
  CHECK(of("cvt.rn.f16.f32 %h0, %f1; cvt.u32.u16 %r0, %h0", 0x3f800000) == 0x3c00);
  CHECK(of("cvt.rn.satfinite.f16.f32 %h0, %f1; cvt.u32.u16 %r0, %h0", 0x7f800000) == 0x7bff);
  CHECK(of("cvt.rn.relu.bf16.f32 %h0, %f1; cvt.u32.u16 %r0, %h0", 0xbf800000) == 0);
  CHECK(of("cvt.u16.u32 %h1, %r1; cvt.f32.f16 %f0, %h1; mov.b32 %r0, %f0", 1) == 0x33800000);
  CHECK(of("cvt.u16.u32 %h1, %r1; cvt.f32.bf16 %f0, %h1; mov.b32 %r0, %f0", 0x4049) == 0x40490000);
  CHECK(of("cvt.rni.f32.f32 %f0, %f1; mov.b32 %r0, %f0", 0xbe800000) == 0x80000000);
  CHECK(of("cvt.ftz.f32.f32 %f0, %f1; mov.b32 %r0, %f0", 0x80000001) == 0x80000000);
  CHECK(of("cvt.sat.f32.f32 %f0, %f1; mov.b32 %r0, %f0", 0x40000000) == 0x3f800000);
  CHECK(of("cvt.rna.tf32.f32 %r0, %f1", 0x3f801000) == 0x3f802000);
  CHECK(of("cvt.rn.tf32.f32 %r0, %f1", 0x3f801000) == 0x3f800000);
  CHECK(of("cvt.rna.satfinite.tf32.f32 %r0, %f1", 0x3f801000) == 0x3f802000);
  CHECK(of("cvt.rna.satfinite.tf32.f32 %r0, %f1", 0xff800000) == 0xff7fe000);
  CHECK(of("cvt.rna.satfinite.tf32.f32 %r0, %f1", 0x7f7fffff) == 0x7f7fe000);
}

TEST_CASE("cvt.relu makes negative numbers and -0 zero, and every NaN the canonical one") {
  CHECK(of("cvt.rn.relu.tf32.f32 %r0, %f1", 0xbf800000) == 0);
  CHECK(of("cvt.rz.relu.tf32.f32 %r0, %f1", 0x80000000) == 0);
  CHECK(of("cvt.rz.relu.tf32.f32 %r0, %f1", 0x3f80bfff) == 0x3f80a000);
  CHECK(of("cvt.rn.relu.tf32.f32 %r0, %f1", 0xffc01234) == 0x7fffffff);
  CHECK(of("cvt.u16.u32 %h1, %r1; cvt.rn.relu.f16x2.e4m3x2 %r0, %h1", 0x38c0) == 0x3c000000);
  CHECK(of("cvt.u16.u32 %h1, %r1; cvt.rn.relu.f16x2.e4m3x2 %r0, %h1", 0xff80) == 0x7fff0000);
  CHECK(of("cvt.u16.u32 %h1, %r1; cvt.rn.f16x2.e4m3x2 %r0, %h1", 0xff38) == 0x7fff3c00);
  CHECK(of("cvt.u16.u32 %h1, %r1; cvt.rn.f16x2.e5m2x2 %r0, %h1", 0xfd3c) == 0x7fff3c00);
  CHECK(of("cvt.rn.satfinite.relu.e4m3x2.f32 %h0, %f1, %f2; cvt.u32.u16 %r0, %h0", 0xbf800000, 0xffc01234) == 0x7f);
  CHECK(of("cvt.rn.satfinite.relu.e5m2x2.f16x2 %h0, %r1; cvt.u32.u16 %r0, %h0", 0xbc003c00) == 0x3c);
}

TEST_CASE("cvt.rs rounds each of two numbers by its own half of the random bits") {
  const auto rounded = [](std::string_view to, std::uint32_t a, std::uint32_t b, std::uint32_t random) {
    return of("mov.b32 %r3, " + std::to_string(random) + "; cvt.rs." + std::string(to) + ".f32 %r0, %f1, %f2, %r3", a,
              b, "sm_100a");
  };
  CHECK(rounded("f16x2", 0x3f801000, 0x3f801000, 0x10000fff) == 0x3c013c00);
  CHECK(rounded("f16x2", 0x3f801000, 0xbf801000, 0x0fff1000) == 0x3c00bc01);
  CHECK(rounded("f16x2", 0x3f801000, 0x3f801000, 0xefffefff) == 0x3c003c00); // the three upper bits are ignored
  CHECK(rounded("bf16x2", 0x3f808000, 0x3f808000, 0x80007fff) == 0x3f813f80);
  CHECK(rounded("relu.f16x2", 0xbf801000, 0x3f801000, 0xffffffff) == 0x00003c01);
  CHECK(rounded("satfinite.f16x2", 0x477ff000, 0x477ff000, 0x10000fff) == 0x7bff7bff);
}

TEST_CASE("packed conversions put the first source above the second") {
  CHECK(of("cvt.rn.f16x2.f32 %r0, %f1, %f2", 0x3f800000, 0x40000000) == 0x3c004000);
  CHECK(of("cvt.rz.bf16x2.f32 %r0, %f1, %f2", 0x3f80ffff, 0xc0000000) == 0x3f80c000);
  CHECK(of("cvt.rn.satfinite.e4m3x2.f32 %h0, %f1, %f2; cvt.u32.u16 %r0, %h0", 0x3f800000, 0x7f800000) == 0x387e);
  CHECK(of("cvt.u16.u32 %h1, %r1; cvt.rn.f16x2.e5m2x2 %r0, %h1", 0x3cc0) == 0x3c00c000);
  CHECK(of("cvt.pack.sat.u16.s32 %r0, %r1, %r2", 70000, 0xffffffff) == 0xffff0000);
  CHECK(of("cvt.pack.sat.s8.s32.b32 %r0, %r1, %r2, %r1", 1000, 0xfffffff0) == 0x03e87ff0);
}

} // namespace orias::interp

#include "run.h"

namespace orias::interp {

namespace {

/// The bits of the f32 result of `op`, with operands as bits.
std::uint32_t f32(const std::string& op, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
  const auto load = [](const char* reg, std::uint32_t bits) {
    return "mov.b32 " + std::string(reg) + ", " + std::to_string(bits) + "; ";
  };
  return valueOf(load("%f1", a) + load("%f2", b) + load("%f3", c) + op + "; mov.b32 %r0, %f0;");
}

/// The high or the low word of an f64 result.
std::uint32_t f64(const std::string& op, const char* a, const char* b, bool high) {
  return valueOf("mov.f64 %d1, " + std::string(a) + "; mov.f64 %d2, " + b + "; " + op + "; mov.b64 {%r1, %r2}, %d0;" +
                 (high ? "mov.b32 %r0, %r2;" : "mov.b32 %r0, %r1;"));
}

/// A result in a 16-bit register or a packed one.
std::uint32_t half(const std::string& op, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
  const auto number = [](std::uint32_t bits) { return std::to_string(bits); };
  return valueOf("mov.b32 %r1, " + number(a) + "; mov.b32 %r2, " + number(b) + "; mov.b32 %r3, " + number(c) +
                 "; cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; cvt.u16.u32 %h3, %r3;" + op + ";");
}

constexpr std::uint32_t kOne = 0x3f800000, kTwo = 0x40000000, kThree = 0x40400000, kNan = 0x7fffffff;
constexpr std::uint32_t kInfinity = 0x7f800000, kMinus = 0x80000000, kTiny = 0x00000001, kLeastNormal = 0x00800000;

} // namespace

TEST_CASE("single precision rounds as it is told") {
  CHECK(f32("add.f32 %f0, %f1, %f2", kOne, kTwo) == kThree);
  CHECK(f32("add.rn.f32 %f0, %f1, %f2", kOne, kTiny) == kOne);
  CHECK(f32("add.rp.f32 %f0, %f1, %f2", kOne, kTiny) == kOne + 1);
  CHECK(f32("sub.rz.f32 %f0, %f1, %f2", kOne, kTiny) == kOne - 1);
  CHECK(f32("sub.rm.f32 %f0, %f1, %f2", kOne, kOne) == kMinus);
  CHECK(f32("sub.rn.f32 %f0, %f1, %f2", kInfinity, kInfinity) == kNan);
  CHECK(f32("div.rn.f32 %f0, %f1, %f2", kOne, kThree) == 0x3eaaaaab);
  CHECK(f32("div.rz.f32 %f0, %f1, %f2", kOne, kThree) == 0x3eaaaaaa);
  CHECK(f32("div.rn.f32 %f0, %f1, %f2", kOne, kMinus) == (kInfinity | kMinus));
  CHECK(f32("rcp.rn.f32 %f0, %f1", kThree) == 0x3eaaaaab);
  CHECK(f32("sqrt.rn.f32 %f0, %f1", kTwo) == 0x3fb504f3);
  CHECK(f32("sqrt.rp.f32 %f0, %f1", kTwo) == 0x3fb504f4);
  CHECK(f32("sqrt.rn.f32 %f0, %f1", kOne | kMinus) == kNan);
  // (1 + 2^-23)^2 - (1 + 2^-22) is 2^-46, which would be lost in a rounded product.
  CHECK(f32("fma.rn.f32 %f0, %f1, %f2, %f3", kOne + 1, kOne + 1, (kOne + 2) | kMinus) == (127u - 46) << 23);
  CHECK(f32("mad.rn.f32 %f0, %f1, %f2, %f3", kTwo, kOne, kOne) == kThree);
}

TEST_CASE("subnormals, saturation and signs") {
  CHECK(f32("mul.f32 %f0, %f1, %f2", kTiny | kMinus, kOne) == (kTiny | kMinus));
  CHECK(f32("mul.ftz.f32 %f0, %f1, %f2", kTiny | kMinus, kOne) == kMinus);
  CHECK(f32("mul.f32 %f0, %f1, %f2", kLeastNormal, 0x3f000000) == 0x00400000);
  CHECK(f32("mul.ftz.f32 %f0, %f1, %f2", kLeastNormal, 0x3f000000) == 0);
  CHECK(f32("add.sat.f32 %f0, %f1, %f2", kOne, kTwo) == kOne);
  CHECK(f32("add.sat.f32 %f0, %f1, %f2", kNan, kTwo) == 0);
  CHECK(f32("mul.sat.f32 %f0, %f1, %f2", kOne | kMinus, kTwo) == 0);
  CHECK(f32("abs.f32 %f0, %f1", kTwo | kMinus) == kTwo);
  CHECK(f32("neg.ftz.f32 %f0, %f1", kTiny) == kMinus);
  CHECK(f32("copysign.f32 %f0, %f1, %f2", kMinus, kTwo) == (kTwo | kMinus));
  CHECK(f32("min.f32 %f0, %f1, %f2", 0, kMinus) == kMinus);
  CHECK(f32("max.f32 %f0, %f1, %f2", kMinus, 0) == 0);
  CHECK(f32("max.f32 %f0, %f1, %f2", kNan, kTwo) == kTwo);
  CHECK(f32("max.NaN.f32 %f0, %f1, %f2", 0x7fc00001, kTwo) == kNan);
  CHECK(f32("min.xorsign.abs.f32 %f0, %f1, %f2", kThree | kMinus, kTwo) == (kTwo | kMinus));
}

TEST_CASE("tests of a number's class") {
  const auto is = [](const char* what, std::uint32_t bits) {
    return valueOf("mov.b32 %f1, " + std::to_string(bits) + "; testp." + what +
                   ".f32 %p0, %f1; selp.u32 %r0, 1, 0, %p0;");
  };
  CHECK(is("finite", 0x7f7fffff) == 1);
  CHECK(is("finite", kInfinity) == 0);
  CHECK(is("infinite", kInfinity | kMinus) == 1);
  CHECK(is("number", kInfinity) == 1);
  CHECK(is("notanumber", kNan) == 1);
  CHECK(is("normal", 0) == 1);
  CHECK(is("normal", kTiny) == 0);
  CHECK(is("subnormal", kTiny | kMinus) == 1);
  CHECK(is("subnormal", 0) == 0);
}

TEST_CASE("double precision") {
  CHECK(f64("div.rn.f64 %d0, %d1, %d2", "1.0", "3.0", true) == 0x3fd55555);
  CHECK(f64("div.rp.f64 %d0, %d1, %d2", "1.0", "3.0", false) == 0x55555556);
  CHECK(f64("sqrt.rn.f64 %d0, %d1", "2.0", "0.0", false) == 0x667f3bcd);
  CHECK(f64("fma.rn.f64 %d0, %d1, %d2, %d2", "2.0", "0.5", true) == 0x3ff80000);
  CHECK(f64("sub.f64 %d0, %d1, %d2", "1.0", "1.0", true) == 0);
  CHECK(f64("max.f64 %d0, %d1, %d2", "-1.0", "-2.0", true) == 0xbff00000);
  CHECK(f64("neg.f64 %d0, %d1", "0.0", "0.0", true) == 0x80000000);
  CHECK(f64("rcp.approx.ftz.f64 %d0, %d1", "3.0", "0.0", true) == 0x3fd55555);
  CHECK(f64("rcp.approx.ftz.f64 %d0, %d1", "3.0", "0.0", false) == 0);
  CHECK(f64("rsqrt.approx.f64 %d0, %d1", "4.0", "0.0", true) == 0x3fe00000);
}

TEST_CASE("approximations are nearest, and exact where the manual says so") {
  CHECK(f32("rcp.approx.f32 %f0, %f1", kMinus) == (kInfinity | kMinus));
  CHECK(f32("rcp.approx.ftz.f32 %f0, %f1", kTiny) == kInfinity);
  CHECK(f32("sqrt.approx.f32 %f0, %f1", 0x40800000) == kTwo);
  CHECK(f32("rsqrt.approx.f32 %f0, %f1", 0x40800000) == 0x3f000000);
  CHECK(f32("rsqrt.approx.f32 %f0, %f1", kOne | kMinus) == kNan);
  CHECK(f32("ex2.approx.f32 %f0, %f1", kThree) == 0x41000000);
  CHECK(f32("ex2.approx.f32 %f0, %f1", kInfinity | kMinus) == 0);
  CHECK(f32("lg2.approx.f32 %f0, %f1", 0x41000000) == kThree);
  CHECK(f32("lg2.approx.f32 %f0, %f1", kMinus) == (kInfinity | kMinus));
  CHECK(f32("sin.approx.f32 %f0, %f1", kMinus) == kMinus);
  CHECK(f32("cos.approx.f32 %f0, %f1", 0) == kOne);
  CHECK(f32("cos.approx.f32 %f0, %f1", kInfinity) == kNan);
  CHECK(f32("tanh.approx.f32 %f0, %f1", kInfinity) == kOne);
  CHECK(f32("div.approx.f32 %f0, %f1, %f2", kThree, kTwo) == 0x3fc00000);
  CHECK(f32("div.approx.ftz.f32 %f0, %f1, %f2", 0x7f000000, 0x7f000000) == 0);
  CHECK(f32("div.full.ftz.f32 %f0, %f1, %f2", 0x7f000000, 0x7f000000) == kOne);
}

TEST_CASE("half precision, one element and two") {
  CHECK(half("add.f16 %h0, %h1, %h2; cvt.u32.u16 %r0, %h0", 0x3c00, 0x4000) == 0x4200);
  CHECK(half("sub.bf16 %h0, %h1, %h2; cvt.u32.u16 %r0, %h0", 0x4040, 0x3f80) == 0x4000);
  CHECK(half("mul.f16 %h0, %h1, %h2; cvt.u32.u16 %r0, %h0", 0x7bff, 0x4000) == 0x7c00);
  CHECK(half("mul.ftz.f16 %h0, %h1, %h2; cvt.u32.u16 %r0, %h0", 0x8001, 0x3c00) == 0x8000);
  CHECK(half("add.f16x2 %r0, %r1, %r2", 0x3c004000, 0x40003c00) == 0x42004200);
  CHECK(half("add.sat.f16x2 %r0, %r1, %r2", 0x3c007e00, 0x40003c00) == 0x3c000000);
  CHECK(half("fma.rn.bf16x2 %r0, %r1, %r2, %r3", 0x40003f80, 0x40403f80, 0x3f803f80) == 0x40e04000);
  CHECK(half("fma.rn.relu.f16x2 %r0, %r1, %r2, %r3", 0x3c007e00, 0xbc003c00, 0x80000000) == 0x00007fff);
  CHECK(half("neg.f16x2 %r0, %r1", 0x3c00bc00) == 0xbc003c00);
  CHECK(half("min.NaN.f16x2 %r0, %r1, %r2", 0x3c007e01, 0x40000000) == 0x3c007fff);
  CHECK(half("ex2.approx.f16x2 %r0, %r1", 0x3c000000) == 0x40003c00);
}

TEST_CASE("what is not known stops the run") {
  // The NaN for out-of-bounds values is unknown; other numbers are not affected.
  CHECK(runBody("mov.b16 %h1, 0xffff; fma.rn.oob.f16 %h0, %h1, %h1, %h1;").kind() == "unsupported");
  CHECK(half("fma.rn.oob.f16x2 %r0, %r1, %r2, %r3", 0x3c003c00, 0x40003c00, 0x3c003c00) == 0x42004000);
}

} // namespace orias::interp

#include "evaluate.h"

#include <limits>

// The pseudo rows of Ori, and the integer rows that have no other test.

using namespace orias;
using test::bits;
using test::Machine;

namespace {

std::uint32_t onWords(const char* text, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
  return Machine().set(1, a).set(2, b).set(3, c).setP(0, true).run(text).r(0);
}

std::uint64_t onPairs(const char* text, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  return Machine().set64(2, a).set64(4, b).set64(6, c).run(text).r64(0);
}

std::uint32_t onFloats(const char* text, float a, float b = 0) {
  return onWords(text, bits(a), bits(b));
}

} // namespace

TEST_CASE("copies, and what nothing has defined") {
  CHECK(onWords("MOV R0, R1", 7) == 7);
  CHECK(onWords("MOV.SPILL R0, UR1", 7) == 7);
  CHECK(onWords("COPY R0, R1", 7) == 7);
  CHECK(onWords("COPY R0, P0", 7) == 1);
  CHECK(onWords("COPY R0, !P0", 7) == 0);
  CHECK(Machine().set(0, 9).run("UNDEF R0").r(0) == 0);
  CHECK(onWords("SEL R0, R1, R2, P0", 7, 8) == 7);
  CHECK(onWords("SEL R0, R1, R2, !P0", 7, 8) == 8);
}

TEST_CASE("arithmetic on pairs") {
  CHECK(onPairs("IADD64 R0, R2, R4", 0xffffffff, 2) == 0x100000001);
  CHECK(onPairs("IADD64 R0, R2, -R4", 1, 2) == ~std::uint64_t{0});
  CHECK(onPairs("IMUL64 R0, R2, R4", 0x100000001, 0x100000003) == 0x400000003);
  CHECK(onPairs("IMAD64 R0, R2, R4, R6", 0x100000001, 3, 0xffffffff) == 0x400000002);
}

TEST_CASE("division rounds to zero; the remainder has the dividend's sign; by zero all is ones") {
  const auto word = [](std::int32_t v) { return static_cast<std::uint32_t>(v); };
  CHECK(onWords("IDIV.S32 R0, R1, R2", word(-7), 2) == word(-3));
  CHECK(onWords("IREM.S32 R0, R1, R2", word(-7), 2) == word(-1));
  CHECK(onWords("IREM.S32 R0, R1, R2", 7, word(-2)) == 1);
  CHECK(onWords("IDIV.U32 R0, R1, R2", word(-7), 2) == 0x7ffffffc);
  CHECK(onWords("IDIV.S32 R0, R1, R2", 0x80000000, word(-1)) == 0x80000000);
  CHECK(onWords("IDIV.S16 R0, R1, R2", 0xfff9, 2) == word(-3));
  CHECK(onWords("IREM.U16 R0, R1, R2", 0x1fff9, 10) == 0xfff9 % 10);
  CHECK(onPairs("IDIV.S64 R0, R2, R4", static_cast<std::uint64_t>(-70), 8) == static_cast<std::uint64_t>(-8));
  CHECK(onPairs("IREM.U64 R0, R2, R4", ~std::uint64_t{0}, 10) == ~std::uint64_t{0} % 10);
  CHECK(onWords("IDIV.U32 R0, R1, R2", 5, 0) == ~0u);
  CHECK(onWords("IREM.S32 R0, R1, R2", 5, 0) == ~0u);
}

TEST_CASE("division, reciprocal and root of numbers, rounded as they say") {
  CHECK(onFloats("FDIV.F32.RN R0, R1, R2", 1, 3) == 0x3eaaaaab);
  CHECK(onFloats("FDIV.F32.RZ R0, R1, R2", 1, 3) == 0x3eaaaaaa);
  CHECK(onFloats("FDIV.F32.RN.FTZ R0, R1, R2", 0x1p-126f, 2) == 0);
  CHECK(onFloats("FDIV.F32.FULL R0, R1, R2", 6, 2) == bits(3.0f));
  CHECK(onFloats("FRCP.F32.RP R0, R1", 3) == 0x3eaaaaab);
  CHECK(onFloats("FRCP.F32.RM R0, R1", 3) == 0x3eaaaaaa);
  CHECK(onFloats("FRCP.F32.RN R0, -R1", 4) == bits(-0.25f));
  CHECK(onFloats("FSQRT.F32.RN R0, R1", 2) == 0x3fb504f3);
  CHECK(onFloats("FSQRT.F32.RP R0, R1", 2) == 0x3fb504f4);
  CHECK(onPairs("FDIV.F64.RN R0, R2, R4", bits(1.0), bits(3.0)) == bits(1.0 / 3.0));
  CHECK(onPairs("FSQRT.F64.RN R0, R2", bits(2.25)) == bits(1.5));
}

TEST_CASE("sums, extrema of three, and what carries into the high word") {
  CHECK(onWords("VIADD.16x2 R0, R1, R2", 0x0001ffff, 0x00020001) == 0x00030000);
  CHECK(onWords("VIADD.16x2 R0, R1, -R2", 0x00010000, 0x00020001) == 0xffffffff); // no borrow between the halves
  CHECK(onWords("VIADD.U8x4 R0, R1, R2", 0x01ff0180, 0x01010180) == 0x02000200);
  CHECK(onWords("VIADD.U8x4 R0, R1, -R2", 0x00000100, 0x01000201) == 0xff00ffff);
  CHECK(onWords("VIADD.S32.ISAT R0, R1, R2", 0x7fffffff, 1) == 0x7fffffff);
  CHECK(onWords("VIADD.S32.ISAT R0, R1, -R2", 0, 0x80000000) == 0x7fffffff);
  CHECK(onWords("VIADD.S32.ISAT R0, R1, R2", 0x80000000, 0xffffffff) == 0x80000000);
  CHECK(onWords("VIADD.S32.ISAT R0, R1, R2", 5, 0xfffffffd) == 2);
  CHECK(onWords("VIADD R0, R1, -R2", 5, 7) == static_cast<std::uint32_t>(-2));
  CHECK(onWords("VIMNMX3 R0, R1, R2, R3, PT", 5, static_cast<std::uint32_t>(-7), 9) == static_cast<std::uint32_t>(-7));
  CHECK(onWords("VIMNMX3.U32 R0, R1, R2, R3, !PT", 5, static_cast<std::uint32_t>(-7), 9) ==
        static_cast<std::uint32_t>(-7));
  CHECK(onWords("VIADDMNMX R0, R1, R2, R3, !PT", 5, 7, 9) == 12);
  CHECK(onWords("VIADDMNMX R0, R1, R2, R3, PT", 5, 7, 9) == 9);
  CHECK(onWords("VIADDMNMX.RELU R0, R1, -R2, R3, PT", 5, 7, 9) == 0);
  CHECK(onWords("IMNMX R0, R1, R2, PT", 5, static_cast<std::uint32_t>(-7)) == static_cast<std::uint32_t>(-7));
  CHECK(onWords("IMNMX.U32 R0, R1, R2, PT", 5, static_cast<std::uint32_t>(-7)) == 5);
  Machine m;
  m.set(2, 3).set(3, 5).set64(4, 7).setP(0, true);
  CHECK(m.run("IMAD.WIDE.U32.X R0, R2, R3, R4, P0").r64(0) == 23);
  m.set(2, 0x80000000).set(3, 2).set64(4, 0xffffffff);
  CHECK(m.run("IMAD.HI.U32.X R0, R2, R3, R4, P0").r(0) == 2);
  CHECK(m.run("IMAD.HI.U32.X R0, R2, R3, R4, !P0").r(0) == 1);
  m.set64(2, 0x1ffffffff).set64(4, 2).set64(6, 5);
  CHECK(m.run("UIADD3.64 UR0, UR2, -UR4, UR6").r64(0) == 0x200000002);
  m.set(2, 3).set(3, 5).set(4, 7);
  CHECK(m.run("UIMAD.X UR0, UR2, UR3, UR4, UP0").r(0) == 23);
  CHECK(m.run("UIMAD.X UR0, UR2, UR3, ~UR4, !UP0").r(0) == 7);
}

TEST_CASE("conversions of immediates, and rounding to an integer in f64") {
  CHECK(onWords("I2F.U32.RP R0, 0x20", 0) == bits(32.0f));
  CHECK(onPairs("I2F.F64.U32 R0, 0x20", 0) == bits(32.0));
  CHECK(onPairs("FRND.F64.TRUNC R0, R2", bits(-2.75)) == bits(-2.0));
  CHECK(onPairs("FRND.F64 R0, R2", bits(2.5)) == bits(2.0));
}

TEST_CASE("the immediate of a 64-bit integer that becomes a number is its high half") {
  CHECK(onPairs("I2F.F64.U64 R0, 0x5", 0) == bits(5.0 * 4294967296.0));
  CHECK(onPairs("I2F.F64.S64 R0, 0x80000000", 0) == bits(-9223372036854775808.0));
  CHECK(onWords("I2F.U64 R0, 0x5", 0) == bits(5.0f * 4294967296.0f));
}

TEST_CASE("packed sums of products, which may stop at zero") {
  // (1, -2) * (3, 3) + (1, 1) = (4, -5)
  const std::uint32_t a = 0xc0003c00, b = 0x42004200, c = 0x3c003c00;
  CHECK(onWords("HFMA2 R0, R1, R2, R3", a, b, c) == 0xc5004400);
  CHECK(onWords("HFMA2.RELU R0, R1, R2, R3", a, b, c) == 0x00004400);
  CHECK(onWords("HFMA2.MMA.RELU R0, R1, R2, R3", a, b, c) == 0x00004400);
}

#include "evaluate.h"

using orias::test::bits;
using orias::test::Machine;

namespace {

constexpr std::uint64_t kHigh = std::uint64_t{1} << 63;

} // namespace

TEST_CASE("sums of pairs and their carries") {
  Machine m;
  CHECK(m.set(2, 0xffffffff).set(4, 2).run("IADD R0, P0, R2, R4").r(0) == 1);
  CHECK(m.p(0));
  CHECK(m.setP(2, true).run("IADD.X R0, P0, R2, ~R4, P2").r(0) == 0xfffffffd);
  CHECK(m.p(0));
  CHECK(m.setP(2, false).run("IADD.X R0, P0, RZ, ~R4, P2").r(0) == 0xfffffffd);
  CHECK(!m.p(0));
  m.set64(2, ~std::uint64_t{0}).set64(4, 3);
  CHECK(m.run("IADD.64 R0, P0, R2, R4").r64(0) == 2);
  CHECK(m.p(0));
  CHECK(m.run("IADD.64 R0, P0, R4, R2").r64(0) == 2);
  CHECK(m.run("IADD.64 R0, R4, -R2").r64(0) == 4);
  CHECK(m.run("IADD.64 R0, R4, -0x5").r64(0) == static_cast<std::uint64_t>(-2));
  CHECK(m.setP(2, true).run("IADD.64.X R0, P0, R4, R4, P2").r64(0) == 7);
  CHECK(!m.p(0));
}

TEST_CASE("three pairs have two carries") {
  Machine m;
  m.set64(2, ~std::uint64_t{0}).set64(4, ~std::uint64_t{0}).set64(6, 5).setP(2, true).setP(3, true);
  CHECK(m.run("UIADD3.64 UR0, UP0, UP1, UR2, UR4, URZ").r64(0) == ~std::uint64_t{0} - 1);
  CHECK(m.p(0));
  CHECK(!m.p(1));
  CHECK(m.run("UIADD3.64 UR0, UP0, UP1, UR2, UR4, UR6").r64(0) == 3);
  CHECK(m.p(1));
  CHECK(m.run("UIADD3.64 UR0, UP0, UP1, UR2, UR4, UR2").r64(0) == ~std::uint64_t{0} - 2);
  CHECK(m.p(1));
  CHECK(m.run("UIADD3.64 UR0, UP0, UPT, UR6, -UR6, URZ").r64(0) == 0);
  CHECK(m.p(0)); // 5 - 5 does not borrow
  CHECK(m.run("UIADD3.64.X UR0, UP0, UPT, UR6, 0x1, URZ, UP2, UP3").r64(0) == 8);
  CHECK(!m.p(0));
  CHECK(m.run("UIADD3.64.X UR0, UP0, UPT, UR6, ~UR6, URZ, UP2, !UPT").r64(0) == 0);
  CHECK(m.p(0));
}

TEST_CASE("a number of 33 bits is extended") {
  Machine m;
  m.set64(2, 9).setP(2, false);
  CHECK(m.run("SEL.64 R0, R2, 0x80000000, P2").r64(0) == 0x80000000);
  CHECK(m.run("SEL.64 R0, R2, -0x80000000, P2").r64(0) == 0xffffffff80000000);
  CHECK(m.run("SEL.64 R0, R2, -0x100000000, P2").r64(0) == 0xffffffff00000000);
  CHECK(m.run("SEL.64 R0, R2, 0xffffffff, !P2").r64(0) == 9);
  CHECK(m.run("USEL.64 UR0, UR2, -0x80000001, UP2").r64(0) == 0xffffffff7fffffff);
}

TEST_CASE("a clamped sum takes the opposite of either number") {
  Machine m;
  m.set(2, 0x80000000).set(3, 7);
  CHECK(m.run("VIADD.S32.ISAT R0, -R2, R3").r(0) == 0x7fffffff);
  CHECK(m.run("UVIADD.S32.ISAT UR0, -UR3, UR2").r(0) == 0x80000000);
  CHECK(m.run("VIADD.S32.ISAT R0, -R3, 0x9").r(0) == 2);
}

TEST_CASE("pairs are moved, chosen and compared whole") {
  Machine m;
  m.set64(2, kHigh | 5).set64(4, 7).setP(2, false);
  CHECK(m.run("MOV.64 R0, R2").r64(0) == (kHigh | 5));
  CHECK(m.run("MOV.64 R0, 0x3ff71547652b82fe").r64(0) == 0x3ff71547652b82fe);
  CHECK(m.run("UMOV.64 UR0, UR4").r64(0) == 7);
  CHECK(m.run("UMOV.64 UR0, 0x8000000000000000").r64(0) == kHigh);
  CHECK(m.run("SEL.64 R0, R2, R4, P2").r64(0) == 7);
  CHECK(m.run("SEL.64 R0, R2, R4, !P2").r64(0) == (kHigh | 5));
  CHECK(m.run("USEL.64 UR0, UR2, UR4, UP2").r64(0) == 7);
  CHECK(m.run("ISETP.GT.U64.AND P0, P1, R2, R4, PT").p(0));
  CHECK(!m.p(1));
  CHECK(m.run("ISETP.LT.S64.AND P0, PT, R2, R4, PT").p(0));
  CHECK(m.run("UISETP.LT.S64.AND UP0, UPT, UR2, UR4, UPT").p(0));
  CHECK(m.run("IMNMX.S64 PT, PT, R0, R2, R4, PT, PT").r64(0) == (kHigh | 5));
  CHECK(m.run("IMNMX.U64 PT, PT, R0, R2, R4, PT, PT").r64(0) == 7);
  CHECK(m.run("UIMNMX.U64 UPT, UPT, UR0, UR2, UR4, !UPT, UPT").r64(0) == (kHigh | 5));
}

TEST_CASE("the uniform datapath of sm_120: products, limits, floating point") {
  Machine m;
  m.set(2, 0xffffffff).set(3, 2).set64(4, 0);
  CHECK(m.run("UIMAD.HI.U32 UR0, UR2, UR3, UR4").r(0) == 1);
  CHECK(!m.set64(4, 3).run("UIMAD.HI.U32 UR0, UP1, UR2, UR3, UR4").p(1));
  CHECK(m.r(0) == 2);
  CHECK(m.set64(4, ~std::uint64_t{0}).run("UIMAD.HI.U32 UR0, UP1, UR2, UR3, UR4").p(1));
  m.set64(4, 0);
  CHECK(m.run("UIMAD.HI UR0, UR2, UR3, UR4").r(0) == 0xffffffff);
  CHECK(m.run("UVIMNMX.S32 UR0, UR2, UR3, UPT").r(0) == 0xffffffff);
  CHECK(m.run("UVIMNMX.U32 UR0, UR2, UR3, UPT").r(0) == 2);
  CHECK(m.run("UVIMNMX.S32.RELU UR0, UR2, UR3, UPT").r(0) == 0);
  CHECK(m.run("UVIMNMX.S32.RELU UR0, UR2, UR3, !UPT").r(0) == 2);
  CHECK(m.run("UI2F.U32.RP UR0, UR3").r(0) == bits(2.0f));
  CHECK(m.run("UI2F.F16 UR0, UR2").r(0) == 0xbc00);
  CHECK(m.run("UI2F.U16 UR0, UR2").r(0) == bits(65535.0f));
  CHECK(m.run("UI2F.S16 UR0, UR2.H1").r(0) == bits(-1.0f));
  CHECK(m.run("UI2FP.F32.S32 UR0, UR2").r(0) == bits(-1.0f));
  m.set(2, bits(1.5f)).set(3, bits(-2.25f)).set(4, bits(1.0f)).setP(2, true);
  CHECK(m.run("UFADD UR0, UR2, UR3").r(0) == bits(-0.75f));
  CHECK(m.set(5, 0x12345678).run("UF2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C UR0, UR4, UR2, UR5").r(0) == 0x5678383c);
  CHECK(m.run("UF2FP.SATFINITE.E5M2.F32.PACK_AB_MERGE_C UR0, UR4, UR2, UR5.H1").r(0) == 0x12343c3e);
  CHECK(m.run("UFMUL UR0, UR2, UR3").r(0) == bits(-3.375f));
  CHECK(m.run("UFFMA UR0, UR2, UR3, UR4").r(0) == bits(-2.375f));
  CHECK(m.run("UFSEL UR0, UR2, UR3, UP2").r(0) == bits(1.5f));
  CHECK(m.run("UFSETP.GT.AND UP0, UPT, UR2, UR3, UPT").p(0));
  CHECK(m.run("UF2I.TRUNC.NTZ UR0, UR3").r(0) == static_cast<std::uint32_t>(-2));
}

TEST_CASE("the largest and the smallest of three") {
  Machine m;
  m.set(1, bits(3.0f)).set(2, bits(-1.0f)).set(3, bits(2.0f));
  CHECK(m.run("FMNMX3 R0, R1, R2, R3, !PT").r(0) == bits(3.0f));
  CHECK(m.run("FMNMX3 R0, R1, R2, R3, PT").r(0) == bits(-1.0f));
  m.set(2, 0x7fc00000);
  CHECK(m.run("FMNMX3 R0, R1, R2, R3, PT").r(0) == bits(2.0f));
  CHECK(m.run("FMNMX3.NAN R0, R1, R2, R3, PT").r(0) == 0x7fffffff);
}

TEST_CASE("pairs of f32: words in order, swapped, one for both, a number for both") {
  Machine m;
  const auto pair = [](float low, float high) { return bits(low) | std::uint64_t{bits(high)} << 32; };
  m.set64(2, pair(1, 2)).set64(4, pair(10, -20)).set64(6, pair(0.5f, 0.25f));
  CHECK(m.run("FADD2 R0, R2.F32x2.HI_LO, R4.F32x2.HI_LO").r64(0) == pair(11, -18));
  CHECK(m.run("FADD2 R0, -R2.F32x2.LO_HI, |R4|.F32x2.HI_LO").r64(0) == pair(8, 19));
  CHECK(m.run("FADD2 R0, R2.F32x2.HI_LO, 1.5").r64(0) == pair(2.5f, 3.5f));
  CHECK(m.run("FMUL2 R0, R2.F32x2.HI_LO, R4.F32").r64(0) == pair(10, 20));
  CHECK(m.run("FMUL2.FTZ.RZ R0, R2.F32x2.HI_LO, -0.5").r64(0) == pair(-0.5f, -1));
  CHECK(m.run("FFMA2 R0, R2.F32x2.HI_LO, R4.F32x2.HI_LO, R6.F32x2.HI_LO").r64(0) == pair(10.5f, -39.75f));
  CHECK(m.run("FFMA2 R0, R2.F32x2.HI_LO, 3, R6.F32x2.LO_HI").r64(0) == pair(3.25f, 6.5f));
  CHECK(m.run("FFMA2 R0, R2.F32x2.HI_LO, R4.F32x2.HI_LO, 1").r64(0) == pair(11, -39));
}

TEST_CASE("sums of f16 or bf16 with f32") {
  Machine m;
  m.set(2, 0x3c000000).set(3, bits(3.0f)).set(4, 0x40003f80);
  CHECK(m.run("FHADD R0, R2.H1, -R3").r(0) == bits(-2.0f));
  CHECK(m.run("FHFMA.BF16 R0, R4, R4.H1, R3").r(0) == bits(5.0f));
  CHECK(m.run("FHFMA.BF16.SAT R0, R4, -R4.H1, R3").r(0) == bits(1.0f));
}

TEST_CASE("numbers of four and six bits, and exponents") {
  Machine m;
  const auto packed = [&](const char* text, float high, float low) {
    return m.set(2, bits(high)).set(3, bits(low)).run(text).r(0);
  };
  const float nan = std::bit_cast<float>(0x7fc00000);
  CHECK(packed("F2FP.SATFINITE.E2M1.F32.PACK_AB_MERGE_C R0, R2, R3, RZ", 1.5f, -7) == 0x3f);
  CHECK(packed("F2FP.SATFINITE.RELU.E2M1.F32.PACK_AB_MERGE_C R0, R2, R3, RZ", -1.5f, nan) == 0x07);
  CHECK(packed("F2FP.SATFINITE.E2M3.F32.PACK_AB_MERGE_C R0, R2, R3, RZ", 1, 100) == 0x81f);
  CHECK(packed("F2FP.SATFINITE.E3M2.F32.PACK_AB_MERGE_C R0, R2, R3, RZ", 1, nan) == 0xc1f);
  CHECK(packed("F2FP.E8.F32.PACK_AB_MERGE_C.RP R0, R2, R3, RZ", 3, 0) == 0x8100);
  CHECK(packed("F2FP.E8.F32.PACK_AB_MERGE_C.RZ R0, R2, R3, RZ", -3, nan) == 0x80ff);
  CHECK(m.set(2, 0x7f804000).run("F2FP.SATFINITE.E8.BF16.UNPACK_B_MERGE_C.RZ R0, R2, RZ").r(0) == 0xfe80);
  CHECK(m.run("F2FP.E8.BF16.UNPACK_B_MERGE_C.RP R0, R2, RZ").r(0) == 0xff80);
  CHECK(m.set(2, 0x3f).run("F2FP.F16.E2M1.UNPACK_B R0, R2").r(0) == 0x3e00c600);
  CHECK(m.set(2, 0x0828).run("F2FP.RELU.F16.E2M3.UNPACK_B R0, R2").r(0) == 0x3c000000);
  CHECK(m.set(2, 0x0c2c).run("F2FP.F16.E3M2.UNPACK_B R0, R2").r(0) == 0x3c00bc00);
  CHECK(m.set(2, 0x8000).run("F2FP.BF16.E8.UNPACK_B R0, R2").r(0) == 0x40000040);
}

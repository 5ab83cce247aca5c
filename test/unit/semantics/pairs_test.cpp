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
  m.set64(2, ~std::uint64_t{0}).set64(4, 3);
  CHECK(m.run("IADD.64 R0, P0, R2, R4").r64(0) == 2);
  CHECK(m.p(0));
  CHECK(m.run("IADD.64 R0, P0, R4, R2").r64(0) == 2);
  CHECK(m.run("IADD.64 R0, R4, -R2").r64(0) == 4);
  CHECK(m.run("IADD.64 R0, R4, -0x5").r64(0) == static_cast<std::uint64_t>(-2));
  CHECK(m.setP(2, true).run("IADD.64.X R0, P0, R4, R4, P2").r64(0) == 7);
  CHECK(!m.p(0));
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
  CHECK(m.run("UIMAD.HI UR0, UR2, UR3, UR4").r(0) == 0xffffffff);
  CHECK(m.run("UVIMNMX.S32 UR0, UR2, UR3, UPT").r(0) == 0xffffffff);
  CHECK(m.run("UVIMNMX.U32 UR0, UR2, UR3, UPT").r(0) == 2);
  CHECK(m.run("UI2F.U32.RP UR0, UR3").r(0) == bits(2.0f));
  CHECK(m.run("UI2FP.F32.S32 UR0, UR2").r(0) == bits(-1.0f));
  m.set(2, bits(1.5f)).set(3, bits(-2.25f)).set(4, bits(1.0f)).setP(2, true);
  CHECK(m.run("UFADD UR0, UR2, UR3").r(0) == bits(-0.75f));
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

#include "evaluate.h"

using orias::test::Machine;

namespace {

std::uint32_t result(const std::string& text, std::uint32_t a = 0, std::uint32_t b = 0, std::uint32_t c = 0) {
  return Machine().set(1, a).set(2, b).set(3, c).run(text).r(0);
}

} // namespace

TEST_CASE("IADD3 has two carries, and that of a negation counts") {
  Machine m;
  m.set(1, 0xffffffff).set(2, 0xffffffff).set(3, 0xffffffff).run("IADD3 R0, P0, P1, R1, R2, R3");
  CHECK(m.r(0) == 0xfffffffd);
  CHECK(m.p(0));
  CHECK(m.p(1));
  m.set(2, 1).set(3, 0).run("IADD3 R0, P0, P1, R1, R2, R3");
  CHECK(m.r(0) == 0);
  CHECK(m.p(0));
  CHECK(!m.p(1));
  // 5 - 0: no borrow, so a carry.
  m.set(1, 5).set(2, 0).run("IADD3 R0, P0, PT, R1, -R2, RZ");
  CHECK(m.r(0) == 5);
  CHECK(m.p(0));
  m.set(2, 6).run("IADD3 R0, P0, PT, R1, -R2, RZ");
  CHECK(m.r(0) == 0xffffffff);
  CHECK(!m.p(0));
  m.setP(2, true).setP(3, true).run("IADD3.X R0, P0, PT, R1, ~R2, RZ, P2, P3");
  CHECK(m.r(0) == 5 + 0xfffffff9u + 2);
  CHECK(m.p(0));
  m.run("IADD3.X R0, R1, ~R2, RZ, !P2, !PT");
  CHECK(m.r(0) == 5 + 0xfffffff9u);
}

TEST_CASE("IMAD, wide and high, signed and not, with a pair to add") {
  CHECK(result("IMAD R0, R1, R2, -R3", 7, 0xffffffff, 3) == static_cast<std::uint32_t>(-10));
  Machine m;
  m.set(1, 0xffffffff).set(2, 2).set64(4, 10);
  CHECK(m.run("IMAD.WIDE R6, R1, R2, R4").r64(6) == 8);
  CHECK(m.run("IMAD.WIDE.U32 R6, R1, R2, R4").r64(6) == 0x200000008);
  CHECK(m.run("IMAD.WIDE R6, R1, R2, -R4").r64(6) == static_cast<std::uint64_t>(-12));
  CHECK(m.run("IMAD.HI.U32 R6, R1, R2, RZ").r(6) == 1);
  CHECK(m.run("IMAD.HI R6, R1, R2, RZ").r(6) == 0xffffffff);
  m.set64(4, std::uint64_t{7} << 32);
  CHECK(m.run("IMAD.HI.U32 R6, R1, R2, R4").r(6) == 8);
  CHECK(m.setP(0, true).run("IMAD.X R6, R1, R2, R4, P0").r(6) == static_cast<std::uint32_t>(-1));
}

TEST_CASE("ISETP combines with its predicate and continues from the low words") {
  Machine m;
  m.set(1, 0xffffffff).set(2, 1).setP(2, false);
  m.run("ISETP.LT.AND P0, P1, R1, R2, PT");
  CHECK(m.p(0));
  CHECK(!m.p(1));
  m.run("ISETP.LT.U32.AND P0, P1, R1, R2, PT");
  CHECK(!m.p(0));
  CHECK(m.p(1));
  m.run("ISETP.LT.AND P0, P1, R1, R2, P2");
  CHECK(!m.p(0));
  CHECK(!m.p(1));
  m.run("ISETP.GT.OR P0, P1, R1, R2, !P2");
  CHECK(m.p(0));
  m.set(2, 0xffffffff).setP(3, true).run("ISETP.LT.AND.EX P0, PT, R1, R2, PT, P3");
  CHECK(m.p(0));
  m.setP(3, false).run("ISETP.LT.AND.EX P0, PT, R1, R2, PT, P3");
  CHECK(!m.p(0));
}

TEST_CASE("SHF shifts pairs, by clamped or wrapped counts") {
  CHECK(result("SHF.L.U32 R0, R1, R2, RZ", 3, 4) == 48);
  CHECK(result("SHF.L.U32 R0, R1, R2, RZ", 3, 33) == 0);
  CHECK(result("SHF.L.W.U32 R0, R1, R2, RZ", 3, 33) == 6);
  CHECK(result("SHF.L.U32.HI R0, R1, R2, R3", 0x80000000, 1, 1) == 3);
  CHECK(result("SHF.L.W.U32.HI R0, R1, R2, R1", 0x80000001, 4) == 0x00000018);
  CHECK(result("SHF.R.U32 R0, R1, R2, R3", 0x80000000, 4, 0xf) == 0xf8000000);
  CHECK(result("SHF.R.U32.HI R0, RZ, R2, R3", 0, 40, 0xf0000000) == 0);
  CHECK(result("SHF.R.S32.HI R0, RZ, R2, R3", 0, 40, 0x80000000) == 0xffffffff);
  CHECK(result("SHF.R.S64 R0, R1, R2, R3", 0, 36, 0x80000000) == 0xf8000000);
  CHECK(result("SHF.R.U64 R0, R1, R2, R3", 0, 36, 0x80000000) == 0x08000000);
  CHECK(result("SHF.L.U64.HI R0, R1, R2, R3", 1, 40, 5) == 0x100);
}

TEST_CASE("LEA adds a shifted word; its high form reads the word above") {
  CHECK(result("LEA R0, R1, R2, 0x4", 3, 5) == 53);
  Machine m;
  m.set(1, 0x80000000).set(2, 0x80000000).set(3, 1).run("LEA R0, P0, R1, R2, 0x0");
  CHECK(m.r(0) == 0);
  CHECK(m.p(0));
  m.setP(1, true);
  CHECK(m.run("LEA.HI.X R0, R1, R2, R3, 0x1, P1").r(0) == 0x80000004);
  CHECK(m.run("LEA.HI.X.SX32 R0, R1, R2, 0x1, P1").r(0) == 0x80000000);
  CHECK(m.run("LEA.HI R0, R1, R2, RZ, 0x1").r(0) == 0x80000001);
  CHECK(m.run("LEA R0, -R1, R2, 0x0").r(0) == 0);
}

TEST_CASE("logic by tables, and what predicate they give") {
  CHECK(result("LOP3.LUT R0, R1, R2, R3, 0xca, !PT", 0xff00ff00, 0x12345678, 0x9abcdef0) == 0x12bc56f0);
  CHECK(result("LOP3.LUT R0, R1, R2, R3, 0x96, !PT", 1, 3, 7) == 5);
  Machine m;
  m.set(1, 4).set(2, 4);
  CHECK(m.run("LOP3.LUT P0, RZ, R1, R2, RZ, 0x3c, !PT").p(0) == false);
  CHECK(m.run("LOP3.LUT P0, RZ, R1, R2, RZ, 0xc0, !PT").p(0) == true);
  m.setP(1, true).setP(2, false);
  m.run("PLOP3.LUT P3, P4, P1, P2, PT, 0x08, 0x80");
  CHECK(!m.p(3));
  CHECK(!m.p(4));
  m.run("PLOP3.LUT P3, P4, P1, P2, PT, 0x20, 0xdf");
  CHECK(m.p(3));
  CHECK(!m.p(4));
}

TEST_CASE("PLOP3 of the signs of registers says how a sum overflowed") {
  // As in ptxas' saturation: the signs of both operands and of the sum.
  const auto overflows = [](const char* text, std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
    return Machine().set(1, a).set(2, b).set(3, sum).run(text).p(0);
  };
  const char* const tooLarge = "PLOP3.LUT P0, PT, R1.SIGN, R2.SIGN, R3.SIGN, 0x2, 0x0";
  CHECK(overflows(tooLarge, 0x7fffffff, 1, 0x80000000));
  CHECK_FALSE(overflows(tooLarge, 0x80000000, 0xffffffff, 0x7fffffff));
  CHECK_FALSE(overflows(tooLarge, 1, 1, 2));
  const char* const tooSmall = "PLOP3.LUT P0, PT, R1.SIGN, R2.SIGN, R3.SIGN, 0x40, 0x0";
  CHECK(overflows(tooSmall, 0x80000000, 0xffffffff, 0x7fffffff));
  CHECK_FALSE(overflows(tooSmall, 0x7fffffff, 1, 0x80000000));
  CHECK(overflows("PLOP3.LUT PT, P0, R1.SIGN, R2.SIGN, R3.SIGN, 0x0, 0x8", 1, 0x80000000, 0x80000001));
}

TEST_CASE("I2I clamps to fewer bits") {
  CHECK(result("I2I.S8.S32.SAT R0, R1", 200) == 127);
  CHECK(result("I2I.S8.S32.SAT R0, R1", 0xffffff00) == 0xffffff80);
  CHECK(result("I2I.U8.S32.SAT R0, R1", 300) == 255);
  CHECK(result("I2I.U8.S32.SAT R0, R1", 0xffffffff) == 0);
  CHECK(result("I2I.U16.S32.SAT R0, R1", 0x12345) == 0xffff);
  CHECK(result("I2I.S16.S32.SAT R0, R1", 0x80000000) == 0xffff8000);
  CHECK(result("I2I.S16.S32.SAT R0, R1", 0xfffffffe) == 0xfffffffe);
}

TEST_CASE("I2IP clamps two numbers and puts them side by side") {
  CHECK(result("I2IP.U8.S32.SAT R0, R1, R2, R3", 300, 0xffffffff, 0x11112222) == 0x2222ff00);
  CHECK(result("I2IP.U8.S32.SAT R0, R1, R2, R3.H1", 300, 0xffffffff, 0x11112222) == 0x1111ff00);
  CHECK(result("I2IP.S8.S32.SAT R0, R1, R2, R3", 0xffffff00, 200, 0) == 0x807f);
  CHECK(result("I2IP.S16.S32.SAT R0, R1, R2, RZ", 0xffffffff, 0x12345) == 0xffff7fff);
  CHECK(result("I2IP.U16.S32.SAT R0, R1, R2, RZ", 5, 0x12345) == 0x5ffff);
  CHECK(result("I2IP.U4.S32.SAT R0, R1, R2, R3.24", 20, 3, 0x00abcdef) == 0xabcdeff3);
  CHECK(result("I2IP.S4.S32.SAT R0, R1, R2, R3.24", 20, 0xffffff00, 0) == 0x78);
  CHECK(result("I2IP.S2.S32.SAT R0, R1, R2, R3.28", 5, 0xffffffff, 0x01234567) == 0x12345677);
  CHECK(result("I2IP.U2.S32.SAT R0, R1, R2, R3.28", 5, 1, 0) == 0xd);
}

TEST_CASE("bits: counting, finding, reversing, masking, extending") {
  CHECK(result("POPC R0, R1", 0xf0f0f0f1) == 17);
  CHECK(result("POPC R0, ~R1", 0xf0f0f0f1) == 15);
  CHECK(result("FLO.U32 R0, R1", 0x00010000) == 16);
  CHECK(result("FLO.U32.SH R0, R1", 0x00010000) == 15);
  CHECK(result("FLO.U32 R0, R1", 0) == 0xffffffff);
  CHECK(result("FLO.U32.SH R0, R1", 0) == 0xffffffff);
  CHECK(result("FLO R0, R1", 0xfffffff0) == 3);
  CHECK(result("BREV R0, R1", 0x00000003) == 0xc0000000);
  CHECK(result("SGXT R0, R1, 0x4", 0x18) == 0xfffffff8);
  CHECK(result("SGXT.U32 R0, R1, 0x4", 0x18) == 8);
  CHECK(result("SGXT R0, R1, 0x0", 0x18) == 0);
  CHECK(result("SGXT R0, R1, 0x28", 0x80000018) == 0x80000018);
  CHECK(result("BMSK R0, R1, R2", 4, 8) == 0xff0);
  CHECK(result("BMSK R0, R1, R2", 4, 40) == 0xfffffff0);
  CHECK(result("BMSK R0, R1, R2", 40, 4) == 0);
  CHECK(result("BMSK.W R0, R1, R2", 36, 33) == 0x10);
}

TEST_CASE("minimum, maximum, absolute values and dot products") {
  CHECK(result("VIMNMX R0, R1, R2, PT", 0xffffffff, 1) == 0xffffffff);
  CHECK(result("VIMNMX.U32 R0, R1, R2, PT", 0xffffffff, 1) == 1);
  CHECK(result("VIMNMX R0, R1, R2, !PT", 0xffffffff, 1) == 1);
  CHECK(result("VIMNMX.U8x4 R0, R1, R2, PT", 0x01ff8002, 0x02018001) == 0x01018001);
  CHECK(result("VIMNMX.S8x4 R0, R1, R2, !PT", 0x01ff8002, 0x02010001) == 0x02010002);
  CHECK(result("IABS R0, R1", 0xfffffff6) == 10);
  CHECK(result("VABSDIFF R0, R1, R2, R3", 5, 0xfffffffe, 100) == 107);
  CHECK(result("VABSDIFF4.U8.ACC R0, R1, R2, R3", 0x01020304, 0x04030201, 1000) == 1008);
  CHECK(result("IDP.4A.S8.S8 R0, R1, R2, R3", 0xff020304, 0x01010101, 10) == 18);
  CHECK(result("IDP.2A.HI.U16.U8 R0, R1, R2, R3", 0x00020003, 0x05070000, 1) == 32);
}

TEST_CASE("PRMT selects bytes, signs and runs") {
  CHECK(result("PRMT R0, R1, 0x5410, R2", 0x33221100, 0x77665544) == 0x55441100);
  CHECK(result("PRMT R0, R1, 0x8880, RZ", 0x80) == 0xffffff80);
  CHECK(result("PRMT.F4E R0, R1, 0x1, R2", 0x33221100, 0x77665544) == 0x44332211);
  CHECK(result("PRMT.B4E R0, R1, 0x0, R2", 0x33221100, 0x77665544) == 0x55667700);
  CHECK(result("PRMT.RC16 R0, R1, 0x1, R2", 0x33221100, 0x77665544) == 0x33223322);
}

#include "evaluate.h"

#include <random>

// Rows that are equivalent to others, and a check that each row has a test. doctest runs files in the order of their
// names: the last test case of this file must be the last of the program, and must run with all others.

using namespace orias;
using test::Machine;

namespace {

/// "IADD3 R0, P0, PT, R1, ~R2, R3" as an instruction of the uniform datapath.
std::string uniformOf(const std::string& text) {
  std::string out = "U";
  bool isStart = false;
  for (const char c : text) {
    if (isStart && (c == 'R' || c == 'P')) out += 'U';
    isStart = c == ' ' || c == '~' || c == '!' || c == '-';
    out += c;
  }
  return out;
}

} // namespace

TEST_CASE("the uniform datapath computes what the lanes do") {
  std::mt19937 random(7);
  const auto value = [&]() -> std::uint32_t {
    constexpr std::uint32_t kCorners[] = {0, 1, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff};
    return random() % 2 != 0 ? static_cast<std::uint32_t>(random()) : kCorners[random() % std::size(kCorners)];
  };
  for (const std::string text : {"MOV R0, R2",
                                 "IADD3 R0, P0, P1, R2, R3, R4",
                                 "IADD3 R0, P0, P1, R2, -R3, R4",
                                 "IADD3.X R0, P0, P1, R2, ~R3, R4, P2, P3",
                                 "IMAD R0, R2, R3, R4",
                                 "IMAD.WIDE R0, R2, R3, R4",
                                 "IMAD.WIDE.U32 R0, R2, R3, R4",
                                 "IMAD.WIDE.U32.X R0, R2, R3, R4, P2",
                                 "LOP3.LUT P0, R0, R2, R3, R4, 0x96, P2",
                                 "SHF.R.U32.HI R0, R2, R3, R4",
                                 "SHF.L.U64.HI R0, R2, R3, R4",
                                 "SHF.R.S64 R0, R2, R3, R4",
                                 "LEA R0, P0, R2, R3, 0x3",
                                 "LEA.X R0, P0, R2, R3, 0x3, P2",
                                 "LEA.HI R0, P0, R2, R3, R4, 0x3",
                                 "LEA.HI.X R0, P0, R2, R3, R4, 0x3, P2",
                                 "LEA.HI.SX32 R0, P0, R2, R3, 0x3",
                                 "LEA.HI.X.SX32 R0, P0, R2, R3, 0x3, P2",
                                 "SEL R0, R2, R3, P2",
                                 "ISETP.LT.AND P0, P1, R2, R3, P2",
                                 "ISETP.GE.U32.OR P0, P1, R2, R3, !P2",
                                 "ISETP.LT.AND.EX P0, P1, R2, R3, P2, P3",
                                 "PLOP3.LUT P0, P1, P2, P3, P4, 0x96, 0x1e",
                                 "PLOP3.LUT P0, P1, R2.SIGN, R3.SIGN, R4.SIGN, 0x96, 0x1e",
                                 "PRMT R0, R2, R3, R4",
                                 "SGXT R0, R2, R3",
                                 "SGXT.U32 R0, R2, R3",
                                 "BMSK R0, R2, R3",
                                 "POPC R0, ~R2",
                                 "FLO.U32 R0, R2",
                                 "FLO.U32.SH R0, R2",
                                 "IMAD.HI.U32.X R0, P0, R2, R3, R4, P2",
                                 "VIADD.S32.ISAT R0, R2, -R3",
                                 "FSET.BF.LT.AND R0, R2, R3, P2",
                                 "F2F.BF16.F32.RP R0, R2",
                                 "FRND.FLOOR R0, R2",
                                 "F2I.U8.F16.NTZ R0, R2",
                                 "F2I.S16.TRUNC.NTZ R0, R2",
                                 "F2I.U32.BF16.CEIL R0, R2",
                                 "F2IP.S8.F32.NTZ R0, R2, R3, R4.H1",
                                 "I2I.S16.S32.SAT R0, R2",
                                 "I2IP.U8.S32.SAT R0, R2, R3, R4.H1",
                                 "I2IP.S4.S32.SAT R0, R2, R3, R4.24",
                                 "I2IP.U2.S32.SAT R0, R2, R3, R4.28",
                                 "F2FP.SATFINITE.E4M3.F16.UNPACK_B_MERGE_C R0, R2, R4.H1",
                                 "F2FP.RELU.TF32.F32.PACK_B R0, R2",
                                 "BREV R0, R2"})
    for (unsigned i = 0; i < 50; ++i) {
      Machine lane, uniform;
      for (unsigned r = 2; r <= 5; ++r) {
        const std::uint32_t v = value();
        lane.set(r, v);
        uniform.set(r, v);
      }
      for (unsigned p = 2; p <= 4; ++p) {
        const bool v = random() % 2 != 0;
        lane.setP(p, v);
        uniform.setP(p, v);
      }
      lane.run(text);
      uniform.run(uniformOf(text));
      CAPTURE(text);
      CHECK(lane.registers == uniform.registers);
    }
}

TEST_CASE("PLOP3 takes its third predicate from either file") {
  for (unsigned bits = 0; bits < 8; ++bits) {
    Machine a, b;
    for (Machine* m : {&a, &b})
      m->setP(2, bits & 1).setP(3, bits & 2).setP(4, bits & 4);
    CHECK(a.run("PLOP3.LUT P0, P1, P2, P3, P4, 0x96, 0x1e").registers ==
          b.run("PLOP3.LUT P0, P1, P2, P3, UP4, 0x96, 0x1e").registers);
  }
}

TEST_CASE("every row that has a function has a test") {
  std::string missing;
  for (const isa::InstrDesc& d : isa::allInstrs())
    if ((isa::laneFunction(d.op) || isa::warpFunction(d.op)) && !test::rowsTested().contains(d.op))
      missing += std::string(d.name) + " ";
  CHECK_MESSAGE(missing.empty(), "not executed by any test: " << missing);
}

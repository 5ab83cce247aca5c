// Register pressure by block and by instruction, and its report.

#include "ori/analysis/register_pressure.h"

#include "helpers.h"
#include "support/check.h"

using namespace orias;
using namespace orias::ori;

namespace {

constexpr auto kR = static_cast<std::size_t>(File::R), kP = static_cast<std::size_t>(File::P);

/// A loop across which a pair is live.
constexpr std::string_view kLoop =
    "  reg %r2:2;\n"
    ".L0:\n  S2R %r0, SR_TID.X;\n  IMAD.WIDE %r2:2, %r0, 4, RZ:2;\n  MOV %r4, 0;\n  -> .L1;\n"
    ".L1:\n  IADD3 %r4, %r4, %r0, RZ;\n  ISETP.LT.AND %p5, PT, %r4, 100, PT;\n"
    "  @%p5 BRA .L1;\n  -> .L2;\n"
    ".L2:\n  IADD3 %r6, %r2.0, %r2.1, %r4;\n  STS [RZ], %r6;\n  EXIT;\n";

} // namespace

TEST_CASE("pressure: by block and by instruction, with widths") {
  const auto module = test::kernel(kLoop);
  const Function& f = *module->functions[0];
  const Cfg cfg(f);
  const Liveness liveness(cfg);
  const RegisterPressure pressure(liveness);
  CHECK(pressure.liveIn(0)[kR] == 0);
  CHECK(pressure.liveIn(1)[kR] == 4); // %r0, the pair, %r4
  CHECK(pressure.liveOut(1)[kR] == 4);
  CHECK(pressure.liveIn(2)[kR] == 3);
  CHECK(pressure.inBlock(1)[kR] == 4);
  CHECK(pressure.maximum()[kP] == 1);
  const std::vector<FileCounts> before = liveBefore(liveness, *f.block(2));
  REQUIRE(before.size() == 3);
  CHECK(before[0][kR] == 3);
  CHECK(before[1][kR] == 1);
  CHECK(before[2][kR] == 0);
}

TEST_CASE("pressure: the code of a division that is not expanded yet counts") {
  const auto module =
      test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  FDIV.F32.RN %r1, %r0, 1.0f;\n  STS [%r0], %r1;\n  EXIT;\n");
  const Function& f = *module->functions[0];
  const Cfg cfg(f);
  const RegisterPressure pressure{Liveness(cfg)};
  CHECK(pressure.inBlock(0)[kR] == 7); // its operand and six more
  CHECK(pressure.liveOut(0)[kR] == 0);
}

TEST_CASE("pressure: the report") {
  const auto module = test::kernel(kLoop);
  const Function& f = *module->functions[0];
  const Cfg cfg(f);
  CHECK(renderPressure(f, RegisterPressure{Liveness(cfg)}, cfg) ==
        "Max Live RRegs: 4\tPRegs: 1\nFunction Size: 9\n"
        "Block .L0: live-in RRegs: 0\tPRegs: 0\tmax RRegs: 4\n"
        "Block .L1: live-in RRegs: 4\tPRegs: 0\tmax RRegs: 4\n"
        "Block .L2: live-in RRegs: 3\tPRegs: 0\tmax RRegs: 3\n");
}

TEST_CASE("pressure: a change that is not counted is found by the check of updates") {
  const auto module = test::kernel(kLoop);
  Function& f = *module->functions[0];
  const Cfg cfg(f);
  IncrementalPressure pressure(cfg, true);
  Instr* sum = f.block(2)->first;
  const isa::Operand zero = isa::Operand::rz();
  SUBCASE("told") {
    pressure.note(*sum);
    f.setOperand(sum, 3, zero);
    f.setOperand(sum, 4, zero);
    pressure.note(*sum);
    pressure.update();
    CHECK(pressure.pressure().liveIn(1)[kR] == 2);
  }
  SUBCASE("not told") {
    f.setOperand(sum, 3, zero);
    f.setOperand(sum, 4, zero);
    pressure.note(*f.block(2)->last); // has no register
    CHECK_THROWS_AS(pressure.update(), InternalError);
  }
}

#include "ori/ssa.h"

#include "ori/cfg_edit.h"
#include "ori/verify.h"
#include "random_function.h"

using namespace orias;
using namespace orias::ori;

namespace {

void checkVerified(const Function& f) {
  const auto faults = verify(f);
  CHECK_MESSAGE(faults.empty(), render(faults) << print(f));
}

unsigned count(const Function& f, Op op) {
  unsigned n = 0;
  for (const Block* block : f.layout())
    for (const Instr& instr : *block)
      n += instr.op == op;
  return n;
}

/// Replaces the results of whole-register copies by their sources. Then live ranges of phi results and sources overlap,
/// the difficult case of leaving SSA form.
void propagateCopies(Function& f) {
  for (Block* block : f.layout())
    f.forEachSafe(*block, [&](Instr& instr) {
      if (instr.op != Op::COPY || instr.isGuarded()) return;
      const isa::Operand to = instr.op_(0).value(), from = instr.op_(1).value();
      if (!from.isVirtual() || f.vreg(to.reg).width != to.width || f.vreg(from.reg).width != from.width) return;
      if (f.vreg(to.reg).multiDef || f.vreg(from.reg).multiDef || to.reg == from.reg) return;
      f.erase(&instr);
      f.replaceAllRefs(to.reg, from.reg);
    });
}

} // namespace

TEST_CASE("SSA form and back keep what random programs do") {
  std::mt19937 random(42);
  for (unsigned round = 0; round < 200; ++round) {
    CAPTURE(round);
    test::RandomShape shape;
    shape.blocks = 1 + static_cast<unsigned>(random() % 14);
    shape.instrsPerBlock = static_cast<unsigned>(random() % 9);
    shape.registers = 2 + static_cast<unsigned>(random() % 6);
    shape.guardedPercent = round % 3 == 0 ? 15 : 0;
    shape.initialise = round % 4 != 3;
    auto module = test::emptyModule();
    Function& f = module->newFunction("f", true);
    test::fillRandomly(f, random, shape);
    checkVerified(f);
    const std::string original = print(f);
    INFO(original);
    const test::Trace before = test::Interpreter(f).run(60);

    buildSsa(f);
    CHECK(f.ssa);
    checkVerified(f);
    test::checkSameBehaviour(before, f);
    if (round % 2) {
      propagateCopies(f);
      checkVerified(f);
      test::checkSameBehaviour(before, f);
    }
    const std::string ssa = print(f);
    INFO(ssa);
    // All variants: the copies that are coalesced, and the kind of interference.
    const Coalescing how{.ofPhisOnly = round % 5 == 1, .byValue = round % 5 != 2};
    destroySsa(f, how, round % 5 != 3);
    CHECK(!f.ssa);
    CHECK(count(f, Op::PHI) == 0);
    CHECK(count(f, Op::UNDEF) == 0);
    checkVerified(f);
    test::checkSameBehaviour(before, f);
    mergeBlocks(f);
    makeFallthroughsAdjacent(f);
    checkVerified(f);
    test::checkSameBehaviour(before, f);
  }
}

TEST_CASE("a loop counter costs no copies") {
  const auto module = test::kernel(".L0:\n  COPY %r0, 0;\n  -> .L1;\n"
                                   ".L1:\n  IADD3 %r0, %r0, 1, RZ;\n  ISETP.LT.AND %p1, PT, %r0, 10, PT;\n"
                                   "  @%p1 BRA .L1;\n  -> .L2;\n"
                                   ".L2:\n  STS [RZ], %r0;\n  EXIT;\n");
  Function& f = *module->functions[0];
  buildSsa(f);
  CHECK(count(f, Op::PHI) == 1);
  checkVerified(f);
  destroySsa(f);
  CHECK(count(f, Op::COPY) == 1); // the zero
  CHECK(f.layout().size() == 3);
}

TEST_CASE("a result for the next iteration and for the exit is copied once") {
  const auto module = test::kernel("  ssa;\n  reg %r1:2, %r4:2;\n"
                                   ".L0:\n  COPY %r0, 0;\n  COPY %r1.0, 3;\n  COPY %r1.1, 0;\n"
                                   "  ISETP.LT.AND %p2, PT, %r0, 10, PT;\n  @%p2 BRA .L2;\n  -> .L3;\n"
                                   ".L3:\n  COPY %r8, 5;\n  -> .L1;\n"
                                   ".L1:\n  MOV.PHI %r3, [.L3: %r8], [.L1: %r4.0];\n"
                                   "  IADD64 %r4:2, %r1:2, %r1:2;\n  ISETP.LT.AND %p5, PT, %r3, 10, PT;\n"
                                   "  @%p5 BRA .L1;\n  -> .L2;\n"
                                   ".L2:\n  MOV.PHI %r6, [.L0: %r0], [.L1: %r4.0];\n  STS [RZ], %r6;\n  EXIT;\n");
  Function& f = *module->functions[0];
  const SsaCopies copies = destroySsa(f);
  CHECK(copies.made == 6);
  unsigned copiesOfResult = 0;
  for (const Block* block : f.layout())
    for (const Instr& instr : *block)
      copiesOfResult += instr.op == Op::COPY && instr.op_(1).isVirtual() && instr.op_(1).reg == 4;
  CHECK_MESSAGE(copiesOfResult == 1, print(f));
}

TEST_CASE("copies that phis did not make stay where only those of phis are merged") {
  constexpr const char* kText =
      "  ssa;\n.L0:\n  S2R %r0, SR_TID.X;\n  COPY %r1, %r0;\n  ISETP.LT.AND %p2, PT, %r1, 10, PT;\n"
      "  @%p2 BRA .L2;\n  -> .L1;\n.L1:\n  IADD3 %r3, %r1, 1, RZ;\n  -> .L2;\n"
      ".L2:\n  MOV.PHI %r4, [.L0: 7], [.L1: %r3];\n  STS [RZ], %r4;\n  EXIT;\n";
  const auto left = [&](const Coalescing& how, bool coalesces) {
    const auto module = test::kernel(kText);
    destroySsa(*module->functions[0], how, coalesces);
    return count(*module->functions[0], Op::COPY);
  };
  CHECK(left({}, true) == 1);                   // the 7
  CHECK(left({.ofPhisOnly = true}, true) == 2); // and the copy of %r0
  CHECK(left({}, false) == 4);                  // and two copies of the phi
}

TEST_CASE("two values that swap in a loop need one copy more") {
  const auto module = test::kernel(".L0:\n  COPY %r0, 1;\n  COPY %r1, 2;\n  -> .L1;\n"
                                   ".L1:\n  COPY %r2, %r0;\n  COPY %r0, %r1;\n  COPY %r1, %r2;\n"
                                   "  STS [RZ], %r0;\n  ISETP.LT.AND %p3, PT, %r0, 10, PT;\n"
                                   "  @%p3 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n");
  Function& f = *module->functions[0];
  const test::Trace before = test::Interpreter(f).run(50);
  buildSsa(f);
  propagateCopies(f);
  CHECK(count(f, Op::PHI) == 2);
  CHECK(count(f, Op::COPY) == 2);
  test::checkSameBehaviour(before, f);
  destroySsa(f);
  test::checkSameBehaviour(before, f);
  CHECK(count(f, Op::COPY) <= 2 + 3);
}

TEST_CASE("the value before the last increment survives the loop") {
  const auto module =
      test::kernel(".L0:\n  COPY %r0, 1;\n  -> .L1;\n"
                   ".L1:\n  COPY %r1, %r0;\n  IADD3 %r0, %r0, 1, RZ;\n  ISETP.LT.AND %p3, PT, %r0, 10, PT;\n"
                   "  @%p3 BRA .L1;\n  -> .L2;\n.L2:\n  STS [RZ], %r1;\n  EXIT;\n");
  Function& f = *module->functions[0];
  const test::Trace before = test::Interpreter(f).run(50);
  buildSsa(f);
  propagateCopies(f);
  checkVerified(f);
  destroySsa(f);
  test::checkSameBehaviour(before, f);
}

TEST_CASE("guarded definitions on top of others stay out of SSA form, lone ones are in it") {
  const auto module = test::kernel(".L0:\n  ISETP.LT.AND %p0, PT, RZ, 10, PT;\n  COPY %r1, 5;\n  @%p0 COPY %r1, 6;\n"
                                   "  @%p0 COPY %r2, 7;\n  @%p0 STS [RZ], %r2;\n  STS [RZ], %r1;\n  EXIT;\n");
  Function& f = *module->functions[0];
  buildSsa(f);
  CHECK(f.vreg(1).multiDef);
  CHECK(!f.vreg(2).multiDef);
  CHECK(!f.vreg(0).multiDef);
  checkVerified(f);
}

TEST_CASE("a lone guarded definition that later iterations read is not in SSA form") {
  const auto module = [](const char* guardOfUse) {
    return test::kernel(".L0:\n  COPY %r0, 1;\n  -> .L1;\n"
                        ".L1:\n  ISETP.EQ.AND %p3, PT, %r0, 1, PT;\n  @%p3 COPY %r1, %r0;\n  " +
                        std::string(guardOfUse) +
                        " STS [RZ], %r1;\n  IADD3 %r0, %r0, 1, RZ;\n  ISETP.LT.AND %p4, PT, %r0, 10, PT;\n"
                        "  @%p4 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n");
  };
  const auto read = module(""), unread = module("@%p3");
  Function& carried = *read->functions[0];
  const test::Trace before = test::Interpreter(carried).run(100);
  buildSsa(carried);
  CHECK(carried.vreg(1).multiDef);
  destroySsa(carried);
  test::checkSameBehaviour(before, carried);
  for (const Instr& instr : *carried.layout()[1])
    CHECK(!instr.hasUndefinedRest);

  Function& fresh = *unread->functions[0];
  buildSsa(fresh);
  CHECK(!fresh.vreg(1).multiDef);
  destroySsa(fresh);
  unsigned marked = 0;
  for (const Instr& instr : *fresh.layout()[1])
    marked += instr.hasUndefinedRest;
  CHECK(marked == 1);
}

TEST_CASE("halves that are written one by one are one value") {
  const auto module = test::kernel("  reg %r0:2, %r1:2;\n.L0:\n  COPY %r0.0, 1;\n  COPY %r0.1, 2;\n  -> .L1;\n"
                                   ".L1:\n  IADD64 %r0:2, %r0:2, 1;\n  COPY %r0.0, 3;\n  IADD64 %r1:2, %r0:2, %r0:2;\n"
                                   "  COPY %r0.0, 4;\n  COPY %r0.1, 5;\n  ISETP.LT.AND %p2, PT, %r1.0, 10, PT;\n"
                                   "  @%p2 BRA .L1;\n  -> .L2;\n.L2:\n  EXIT;\n");
  Function& f = *module->functions[0];
  buildSsa(f);
  checkVerified(f);
  CHECK(count(f, Op::PHI) == 2);
  CHECK(count(f, Op::COPY) == 5 + 1); // only the first `%r0.0 = 3` keeps a half alive
}

// The estimated cost of copies of a loop body.

#include "phases/unroll_estimate.h"

#include "../ori/helpers.h"

#include <doctest/doctest.h>
#include <memory>
#include <string>

using namespace orias;
using phases::costOfCopies;

namespace {

struct Body {
  explicit Body(const std::string& body)
      : module(ori::test::parsed(
            "module sm_90 ptx 8 8;\nkernel \"f\" {\n  reg %r20:2, %r22:2;\n.L0:\n  S2R %r1, SR_TID.X;\n"
            "  MOV %r2, RZ;\n  MOV %r3, RZ;\n  -> .L1;\n.L1:\n" +
            body +
            "  IADD3 %r2, %r2, 1, RZ;\n  ISETP.LT.AND %p9, PT, %r2, %r1, PT;\n  @%p9 BRA .L1;\n"
            "  -> .L2;\n.L2:\n  STS [%r1], %r3;\n  EXIT;\n}\n")) {
    for (const ori::Instr& instr : *module->functions.front()->block(1))
      instrs.push_back(&instr);
  }
  phases::UnrolledCost cost(unsigned copies, bool keepsTest = true) const {
    return costOfCopies(instrs, copies, keepsTest, copies, module->target());
  }

  std::unique_ptr<ori::Module> module;
  std::vector<const ori::Instr*> instrs;
};

/// A load at an address that grows by 4, and a sum.
const std::string kLoadAndSum = "  LDS %r4, [%r1];\n  IADD3 %r1, %r1, 4, RZ;\n  IADD3 %r3, %r3, %r4, RZ;\n";

} // namespace

TEST_CASE("loads of different copies overlap") {
  const Body body(kLoadAndSum);
  const phases::UnrolledCost once = body.cost(1), four = body.cost(4);
  CHECK(four.length < 2 * once.length);
  CHECK(four.peak > once.peak);
}

TEST_CASE("with one copy in flight at a time nothing overlaps, and no more registers live") {
  const Body body(kLoadAndSum);
  const phases::UnrolledCost once = body.cost(1);
  const phases::UnrolledCost four = costOfCopies(body.instrs, 4, true, 1, body.module->target());
  CHECK(four.length > 3 * once.length / 2);
  CHECK(four.length > body.cost(4).length);
  CHECK(four.peak <= once.peak);
}

TEST_CASE("copies have one test, and one increment of an address") {
  const Body body(kLoadAndSum);
  // Loads occupy their pipe for four cycles, integer instructions for two.
  CHECK(body.cost(1).busy == 2 * 4);
  CHECK(body.cost(8).busy == 8 * 4);
  const Body integers("  IADD3 %r1, %r1, 4, RZ;\n  IADD3 %r3, %r3, 7, RZ;\n  LOP3.LUT %r4, %r3, %r5, RZ, 0xc0, !PT;\n");
  CHECK(integers.cost(1).busy == 2 * 5);
  CHECK(integers.cost(4).busy == 2 * (4 * 2 + 3));
  CHECK(integers.cost(4, false).busy == 2 * (4 * 2 + 2));
}

TEST_CASE("a counter that the body reads is computed in each copy") {
  const Body body("  IADD3 %r3, %r3, %r2, RZ;\n");
  CHECK(body.cost(1).busy == 2 * 3);
  CHECK(body.cost(4).busy == 2 * (4 * 2 + 1));
}

TEST_CASE("a recurrence takes its time in each copy") {
  const Body body("  MUFU.RCP %r3, %r3;\n");
  const phases::UnrolledCost once = body.cost(1), four = body.cost(4);
  CHECK(four.length > 3 * once.length);
}

TEST_CASE("a load stays after a store of the copy before, unless it is elsewhere") {
  const Body unknown("  LDS %r4, [%r1] {contract};\n  STS [%r2], %r4 {contract};\n");
  CHECK(unknown.cost(4).length > 3 * unknown.cost(1).length);
  const Body apart("  LDS %r4, [%r1] {contract};\n  STS [%r1+0x100], %r4 {contract};\n  IADD3 %r1, %r1, 4, RZ;\n");
  CHECK(apart.cost(4).length < 2 * apart.cost(1).length);
}

TEST_CASE("loops that gain are told from loops that do not") {
  const auto priceOf = [](const std::string& text, unsigned copies) {
    const Body body(text);
    const isa::Target& target = body.module->target();
    const phases::OccupancyClasses classes(target, {}, 0, 255);
    phases::UnrollJudge::Loop loop;
    loop.instrs = body.instrs;
    loop.trips = 16;
    loop.peak = loop.functionPeak = 6;
    return phases::UnrollJudge(loop, classes, target).price(copies, true);
  };
  CHECK(priceOf(kLoadAndSum, 4) < -0.5);
  CHECK(priceOf(kLoadAndSum, 4) < priceOf(kLoadAndSum, 2));
  std::string longBody; // limited by issue slots
  for (unsigned i = 30; i < 130; ++i)
    longBody += "  IADD3 %r" + std::to_string(i) + ", %r1, " + std::to_string(i) + ", RZ;\n";
  CHECK(priceOf(longBody, 4) > -0.15);
}

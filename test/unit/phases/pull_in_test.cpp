// Plans count the visited operands, because a plan may follow many operand chains, which takes time.

#include "phases/remat/pull_in.h"

#include "../ori/helpers.h"
#include "ori/analysis/analyses.h"

using namespace orias;

TEST_CASE("pull-in: each operand on each path counts as a look") {
  const auto module = ori::test::kernel(".L0:\n  S2R %r0, SR_TID.X;\n  IADD3 %r1, %r0, 1, RZ;\n"
                                        "  IADD3 %r2, %r1, %r0, RZ;\n  BRA .L1;\n.L1:\n  STS [%r2], RZ;\n  EXIT;\n");
  ori::Function& f = *module->functions[0];
  const ori::DomTree& dominators = f.analyses().dominators();
  const phases::Rematerializer remat(f, dominators, {});
  phases::PullInPlanner planner(f, f.analyses().cfg(), dominators, f.analyses().loops(), f.analyses().liveness(),
                                remat);
  CHECK(planner.looks() == 0);
  const std::vector<bool> isOver(f.analyses().cfg().idCount(), false);
  const phases::PressurePoint end{f.block(0)->id, nullptr};
  const std::optional<phases::PullIn> plan = planner.plan(2, end, isOver);
  REQUIRE(plan);
  REQUIRE(plan->places.size() == 1);
  CHECK(plan->places[0].chain == std::vector<ori::VRegId>{0, 1, 2});
  unsigned cost = 0;
  for (const ori::VRegId link : plan->places[0].chain)
    cost += remat.cost(*remat.definitions(link).front());
  CHECK(plan->cost == cost);
  // %r1 and %r0 for %r2, %r0 for %r1.
  CHECK(planner.looks() == 3);
  CHECK(planner.plan(2, end, isOver));
  CHECK(planner.looks() == 6);
}

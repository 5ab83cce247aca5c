// Registers of instructions that read three of them are in different banks where that is possible.

#include "allocation.h"

#include "regalloc/bank_conflicts.h"
#include "regalloc/live_ranges.h"
#include "regalloc/register_placement.h"
#include "regalloc/webs.h"

using namespace orias;
using namespace orias::regalloc;
using isa::File;

namespace {

struct Conflicts {
  unsigned before = 0, after = 0, used = 0, usedAfter = 0;
};

/// Places the values of a kernel, each in the first free register, then separates the banks.
Conflicts separate(std::string_view body) {
  const auto module = ori::test::kernel(body, "sm_90");
  const ori::Function& function = *module->functions.front();
  const LiveRanges ranges(function, File::R);
  const Webs webs = buildWebs(function, File::R, ranges, {});
  RegisterBudget budget;
  budget.limit = 32;
  Placer placer(function, webs);
  Placement placement = placer.place(budget, Order::ByStart);
  REQUIRE(placement.failed.empty());
  const BankConflicts conflicts(function, webs);
  const auto count = [&] {
    unsigned n = 0;
    for (const ThreeReads& reads : conflicts.all())
      n += BankConflicts::isConflict(reads, placement.slotOf) ? 1U : 0U;
    return n;
  };
  Conflicts result{count(), 0, placement.used};
  placement = placer.separateBanks(budget, conflicts, std::move(placement));
  result.after = count();
  result.usedAfter = placement.used;
  return result;
}

} // namespace

TEST_CASE("bank conflicts: a product and a sum read two banks") {
  // %r0 to %r4 are in R0 to R4; R5 to R7 are free after the tuples.
  const Conflicts c = separate("  reg %r8:4, %r12:4;\n.L0:\n LDS.128 %r8:4, [0];\n LDS.128 %r12:4, [16];\n"
                               " STS.128 [0], %r8:4;\n STS.128 [16], %r12:4;\n"
                               " LDS %r0, [0];\n LDS %r1, [4];\n LDS %r2, [8];\n LDS %r3, [12];\n LDS %r4, [16];\n"
                               " STS [0], %r1;\n STS [4], %r3;\n FFMA %r5, %r0, %r2, %r4;\n STS [8], %r5;\n"
                               " STS [12], %r0;\n STS [16], %r2;\n EXIT;\n");
  CHECK(c.before == 1);
  CHECK(c.after == 0);
  CHECK(c.used == c.usedAfter);
}

TEST_CASE("bank conflicts: tuples, equal operands and memory instructions have none") {
  const auto module = ori::test::kernel("  reg %r2:2, %r4:2;\n.L0:\n LDS %r0, [0];\n LDS.64 %r2:2, [8];\n"
                                        " FFMA %r1, %r0, %r0, %r2.0;\n IMAD.WIDE %r4:2, %r0, %r1, %r2:2;\n"
                                        " STS.64 [%r0], %r4:2;\n STS [%r0], %r1;\n EXIT;\n");
  const ori::Function& function = *module->functions.front();
  const Webs webs = buildWebs(function, File::R, LiveRanges(function, File::R), {});
  CHECK(BankConflicts(function, webs).all().empty());
}

// Spills where the pressure is within the limit, but no aligned run of registers is free for a web.

#include "allocation.h"

#include "regalloc/register_placement.h"
#include "regalloc/spill.h"

#include <limits>

using namespace orias;
using namespace orias::regalloc;

namespace {

constexpr double kTemporary = std::numeric_limits<double>::infinity();

/// Webs that are live at the same time.
class Crowd {
 public:
  explicit Crowd(unsigned limit) { budget.limit = limit; }

  void add(unsigned width, double weight, std::uint32_t slot) {
    Web web;
    web.width = web.align = width;
    web.weight = weight;
    web.components.resize(width);
    for (Range& range : web.components)
      range.add({0, 20});
    if (slot == kNoSlot) placement.failed.push_back(static_cast<std::uint32_t>(webs.all.size()));
    webs.all.push_back(std::move(web));
    placement.slotOf.push_back(slot);
  }
  std::vector<std::uint32_t> victims() const { return clearRuns(webs, placement, budget); }

  Webs webs;
  Placement placement;
  RegisterBudget budget;
};

} // namespace

TEST_CASE("a run that a call changes need not be cleared") {
  for (const double weight : {1.0, 9.0}) {
    Crowd crowd(4);
    crowd.add(2, 5, kNoSlot);
    crowd.add(2, weight, 2);
    CallPoints::Lost lost;
    lost.where.add({10, 11});
    lost.slots = SlotSet::between(0, 2);
    crowd.budget.calls.lost.push_back(lost);
    CHECK(crowd.victims() == std::vector<std::uint32_t>{weight < 5 ? 1u : 0u});
  }
}

TEST_CASE("where each run has a temporary in it, others make room for those") {
  Crowd crowd(4);
  crowd.add(2, kTemporary, kNoSlot);
  crowd.add(1, kTemporary, 0);
  crowd.add(1, 7, 1);
  crowd.add(1, kTemporary, 2);
  crowd.add(1, 3, 3);
  CHECK(crowd.victims() == std::vector<std::uint32_t>{4, 2});
}

TEST_CASE("webs that live together get a run each") {
  Crowd crowd(4);
  crowd.add(2, 9, kNoSlot);
  crowd.add(2, 9, kNoSlot);
  crowd.add(1, 1, 0);
  crowd.add(1, 1, 1);
  crowd.add(1, 2, 2);
  crowd.add(1, 2, 3);
  CHECK(crowd.victims() == std::vector<std::uint32_t>{2, 3, 4, 5});
}

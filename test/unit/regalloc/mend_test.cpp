// Webs that a placement could not place are placed if others can move, and only then.

#include "allocation.h"

#include "regalloc/mend.h"

#include <random>

using namespace orias;
using namespace orias::regalloc;

namespace {

Webs websOf(const std::vector<std::tuple<unsigned, Point, Point>>& lives) {
  Webs webs;
  for (const auto& [width, start, end] : lives) {
    Web web;
    web.width = web.align = width;
    web.start = start;
    web.components.resize(width);
    for (Range& range : web.components)
      range.add({start, end});
    webs.all.push_back(std::move(web));
  }
  return webs;
}

/// Checks that no two webs share a slot at a point, tuples are aligned, and `used` is the highest slot.
void checkPlaced(const Webs& webs, const Placement& placement, const RegisterBudget& budget) {
  REQUIRE(placement.failed.empty());
  std::vector<Range> taken(budget.limit);
  unsigned used = 0;
  for (std::size_t id = 0; id < webs.all.size(); ++id) {
    const Web& web = webs.all[id];
    const std::uint32_t slot = placement.slotOf[id];
    REQUIRE(slot + web.width <= budget.limit);
    CHECK(slot % web.align == 0);
    used = std::max(used, slot + web.width);
    for (unsigned i = 0; i < web.width; ++i) {
      CHECK(!taken[slot + i].overlaps(web.components[i]));
      CHECK(!(slot + i < budget.reserved.size() && budget.reserved[slot + i]));
      taken[slot + i].unite(web.components[i]);
    }
  }
  CHECK(placement.used == used);
}

} // namespace

TEST_CASE("of two placements that lack something, registers count before webs") {
  const Webs webs = websOf({{128, 0, 10}, {1, 0, 10}, {1, 0, 10}, {2, 0, 10}});
  const auto lacks = [](std::vector<std::uint32_t> failed, unsigned used = 100) {
    Placement placement;
    placement.failed = std::move(failed);
    placement.used = used;
    return placement;
  };
  CHECK(lacksLess(lacks({1, 2, 3}), lacks({0}), webs));
  CHECK(!lacksLess(lacks({0}), lacks({1, 2, 3}), webs));
  CHECK(lacksLess(lacks({3}), lacks({1, 2}), webs));
  CHECK(lacksLess(lacks({1}, 90), lacks({2}), webs));
  CHECK(lacksLess(lacks({}), lacks({1}, 90), webs));
}

TEST_CASE("a web takes the place of one that can go elsewhere") {
  // The pair needs slots 0 and 1 or 2 and 3; a single web is in each half.
  const Webs webs = websOf({{1, 0, 10}, {1, 0, 10}, {2, 0, 10}});
  const RegisterBudget budget{4, {}, {}, isa::File::R, {}};
  Placement failed{{0, 2, kNoSlot}, {2}, 3};
  checkPlaced(webs, mend(webs, budget, failed), budget);
}

TEST_CASE("nothing is placed where nothing fits, or where slots are nobody's") {
  const Webs webs = websOf({{1, 0, 10}, {1, 0, 10}, {2, 0, 10}});
  const Placement failed{{0, 2, kNoSlot}, {2}, 3};
  RegisterBudget budget{3, {}, {}, isa::File::R, {}};
  CHECK(mend(webs, budget, failed).failed == std::vector<std::uint32_t>{2});
  budget.limit = 4;
  budget.reserved = {false, true};
  CHECK(mend(webs, budget, failed).failed == std::vector<std::uint32_t>{2});
}

TEST_CASE("of random webs in as many registers as are live at once, more find a place than before") {
  unsigned failures = 0, mended = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<std::tuple<unsigned, Point, Point>> lives;
    for (unsigned i = 0; i < 60; ++i) {
      const Point start = random() % 100;
      lives.emplace_back(random() % 4 == 0 ? 2 : 1, start, start + 1 + random() % 20);
    }
    const Webs webs = websOf(lives);
    const RegisterBudget budget{(webs.mostOccupied(200) + 1) / 2 * 2, {}, {}, isa::File::R, {}};
    // First fit in program order.
    Placement first{std::vector<std::uint32_t>(webs.all.size(), kNoSlot), {}, 0};
    std::vector<Range> taken(budget.limit);
    for (std::uint32_t id = 0; id < webs.all.size(); ++id) {
      const Web& web = webs.all[id];
      for (std::uint32_t slot = 0; slot + web.width <= budget.limit && first.slotOf[id] == kNoSlot; slot += web.align) {
        bool isFree = true;
        for (unsigned i = 0; i < web.width; ++i)
          isFree = isFree && !taken[slot + i].overlaps(web.components[i]);
        if (!isFree) continue;
        first.slotOf[id] = slot;
        for (unsigned i = 0; i < web.width; ++i)
          taken[slot + i].unite(web.components[i]);
      }
      if (first.slotOf[id] == kNoSlot) first.failed.push_back(id);
    }
    if (first.failed.empty()) continue;
    ++failures;
    const Placement after = mend(webs, budget, first);
    if (!after.failed.empty()) {
      CHECK(after.failed == first.failed);
      CHECK(after.slotOf == first.slotOf);
      continue;
    }
    ++mended;
    checkPlaced(webs, after, budget);
  }
  CHECK(failures > 100);
  CHECK(2 * mended > failures);
}

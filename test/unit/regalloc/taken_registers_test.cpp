#include "regalloc/taken_registers.h"

#include <doctest/doctest.h>
#include <random>
#include <vector>

using namespace orias::regalloc;

namespace {

/// A reference implementation of TakenSlots, one point at a time.
struct Reference {
  std::vector<std::vector<bool>> taken; // by slot and point

  void set(const Range& range, unsigned slot, bool value) {
    for (const Segment s : range.segments())
      for (Point p = s.start; p < s.end; ++p)
        taken[slot][p] = value;
  }
  bool isTaken(const Range& range, unsigned slot) const {
    for (const Segment s : range.segments())
      for (Point p = s.start; p < s.end; ++p)
        if (taken[slot][p]) return true;
    return false;
  }
};

void compare(unsigned slotCount, Point points, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const auto someRange = [&] {
    Range range;
    for (unsigned i = 0; i < 1 + below(3); ++i) {
      const Point start = below(points);
      range.add({start, start + 1 + below(std::min<Point>(points - start, 1 + below(100)))});
    }
    return range;
  };
  TakenSlots tested(slotCount, points);
  Reference reference{std::vector(slotCount, std::vector<bool>(points, false))};
  std::vector<std::pair<Range, unsigned>> all;
  for (unsigned step = 0; step < 400; ++step) {
    const unsigned slot = below(slotCount);
    const Range range = someRange();
    if (!reference.isTaken(range, slot)) {
      tested.occupy(range, slot);
      reference.set(range, slot, true);
      all.emplace_back(range, slot);
    }
    if (below(3) == 0 && !all.empty()) {
      const auto at = all.begin() + below(static_cast<std::uint32_t>(all.size()));
      tested.release(at->first, at->second);
      reference.set(at->first, at->second, false);
      all.erase(at);
    }
    const Range asked = someRange();
    SlotSet found;
    tested.addTaken(asked, found);
    for (unsigned s = 0; s < slotCount; ++s)
      REQUIRE(found[s] == reference.isTaken(asked, s));
  }
}

} // namespace

TEST_CASE("slots taken in a range: like a search point by point") {
  for (const unsigned slotCount : {1U, 40U, 64U, 65U, 128U, 180U, 255U})
    for (const Point points : {1U, 15U, 16U, 17U, 160U, 333U})
      compare(slotCount, points, slotCount * 1000 + points);
}

TEST_CASE("slot sets: bounds, multiples, and the next one") {
  const SlotSet some = SlotSet::between(3, 130);
  CHECK(!some[2]);
  CHECK(some[3]);
  CHECK(some[129]);
  CHECK(!some[130]);
  CHECK(some.from(0) == 3);
  CHECK(some.from(130) == SlotSet::kMax);
  CHECK(!SlotSet::between(5, 5).any());
  CHECK(SlotSet::between(0, 256).from(255) == 255);
  for (const unsigned align : {1U, 2U, 4U, 8U, 64U})
    for (unsigned slot = 0; slot < SlotSet::kMax; ++slot)
      CHECK(SlotSet::aligned(align)[slot] == (slot % align == 0));
  // Sums of a wgmma have 128 registers.
  for (const unsigned count : {0U, 2U, 63U, 64U, 65U, 100U, 127U, 128U, 255U}) {
    const SlotSet lower = some.down(count);
    for (unsigned slot = 0; slot < SlotSet::kMax; ++slot)
      CHECK(lower[slot] == (slot + count < SlotSet::kMax && some[slot + count]));
  }
}

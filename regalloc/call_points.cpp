#include "regalloc/call_points.h"

#include "ori/calls.h"
#include "ori/function.h"

#include <algorithm>
#include <limits>

namespace orias::regalloc {

CallPoints callPoints(const ori::Function& function, const LiveRanges& ranges, isa::File file) {
  CallPoints calls;
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block) {
      const Segment after{ranges.defPoint(instr), ranges.defPoint(instr) + 1};
      if (instr.op == ori::Op::FUNCTION_ENTRY) calls.entry.add(after);
      if (!ori::isCall(instr)) continue;
      const ori::RegisterSet changed = ori::changedAt(function, instr);
      CallPoints::Lost lost{{}, {}, ori::knownChanges(function, instr) != nullptr};
      for (std::uint32_t r = 0; r < SlotSet::kMax; ++r)
        if (changed.contains(file, r)) lost.slots.set(r);
      const auto same = std::ranges::find_if(calls.lost, [&](const CallPoints::Lost& other) {
        return other.isKnown == lost.isKnown && other.slots == lost.slots;
      });
      (same != calls.lost.end() ? *same : calls.lost.emplace_back(lost)).where.add(after);
    }
  return calls;
}

bool isLiveAcross(const Web& web, const Range& calls) {
  return web.spillCost < std::numeric_limits<double>::infinity() &&
         std::any_of(web.components.begin(), web.components.end(), [&](const Range& r) { return r.overlaps(calls); });
}

Range crowdedCalls(const Webs& webs, const CallPoints& calls, unsigned limit) {
  Range crowded;
  for (const CallPoints::Lost& lost : calls.lost) {
    if (!lost.isKnown) {
      crowded.unite(lost.where);
      continue;
    }
    unsigned left = limit;
    for (std::size_t r = lost.slots.from(0); r < limit; r = lost.slots.from(r + 1))
      --left;
    for (const Segment point : lost.where.segments()) {
      unsigned live = 0;
      for (const Web& web : webs.all)
        live += static_cast<unsigned>(
            std::ranges::count_if(web.components, [&](const Range& r) { return r.contains(point.start); }));
      if (live > left) crowded.add(point);
    }
  }
  return crowded;
}

} // namespace orias::regalloc

#include "phases/list_schedule.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 110. Orders the instructions of each block again, now that registers are known, so that results are used when
/// they are there.
bool postSchedule(ori::Function& function, PhaseContext& context) {
  bool changed = false;
  for (ori::Block* block : function.layout())
    changed |= scheduleBlock(function, *block, context.target, [&](auto region, const DependenceGraph& graph) {
      return orderByLatency(region, graph, context.target);
    });
  return changed;
}

} // namespace orias::phases

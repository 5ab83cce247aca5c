#include "ori/analysis/analyses.h"
#include "phases/list_schedule.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 110. Orders the instructions of each block again, now that registers are known, so that results are used when
/// they are there: in loops those of the blocks before, too, as loads of the iteration before in a pipelined one.
bool postSchedule(ori::Function& function, PhaseContext& context) {
  bool changed = false;
  const ori::Cfg& cfg = function.analyses().cfg();
  const ori::Loops& loops = function.analyses().loops();
  for (ori::Block* block : function.layout()) {
    Arrivals arrivals = arrivalsAt(function, loops, cfg.predecessors(block->id), block->id, context.target);
    changed |= scheduleBlock(function, *block, context.target, [&](auto region, const DependenceGraph& graph) {
      std::vector<std::uint32_t> order = orderByLatency(region, graph, context.target, arrivals);
      arrivals.clear(); // the regions behind are looked at by themselves
      return order;
    });
  }
  return changed;
}

} // namespace orias::phases

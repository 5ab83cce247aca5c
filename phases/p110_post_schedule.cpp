#include "ori/analysis/analyses.h"
#include "phases/list_schedule.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 110. Reschedules the instructions of each block after register allocation, to hide result latencies. In loops
/// it also considers results of the preceding blocks, such as loads of the previous iteration of a pipelined loop.
bool postSchedule(ori::Function& function, PhaseContext& context) {
  bool changed = false;
  const ori::Cfg& cfg = function.analyses().cfg();
  const ori::Loops& loops = function.analyses().loops();
  for (ori::Block* block : function.layout()) {
    Arrivals arrivals = arrivalsAt(function, loops, cfg.predecessors(block->id), block->id, context.target);
    changed |= scheduleBlock(function, *block, context.target, [&](auto region, const DependenceGraph& graph) {
      std::vector<std::uint32_t> order = orderByLatency(region, graph, context.target, arrivals);
      arrivals.clear(); // later regions are scheduled independently
      return order;
    });
  }
  return changed;
}

} // namespace orias::phases

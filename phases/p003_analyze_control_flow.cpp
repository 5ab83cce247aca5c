#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/phases.h"

#include <algorithm>

namespace orias::phases {

namespace {

/// Marks blocks as cold that are reached only from cold blocks, or that lead only to cold blocks. The entry never is
/// cold.
void spreadColdness(ori::Function& function) {
  const ori::Cfg& cfg = function.analyses().cfg();
  const auto isCold = [&](ori::BlockId id) { return function.block(id)->isCold; };
  const auto areAllCold = [&](const auto& blocks) { return !blocks.empty() && std::ranges::all_of(blocks, isCold); };
  for (bool changed = std::ranges::any_of(function.layout(), [](const ori::Block* b) { return b->isCold; }); changed;) {
    changed = false;
    for (ori::Block* block : function.layout()) {
      if (block->isCold || block == function.entry()) continue;
      if (!areAllCold(cfg.predecessors(block->id)) && !areAllCold(cfg.successors(block->id))) continue;
      block->isCold = changed = true;
    }
  }
}

} // namespace

/// Phase 3. Removes unreachable blocks. Sets each block's loop depth and whether it is cold; later phases weight their
/// decisions by both. Lowering has marked the blocks with a failing assertion or a trap.
bool analyzeControlFlow(ori::Function& function, PhaseContext&) {
  const bool changed = ori::removeUnreachableBlocks(function);
  spreadColdness(function);
  ori::setLoopDepths(function, function.analyses().loops());
  return changed;
}

} // namespace orias::phases

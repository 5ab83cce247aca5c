#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 3. Drops what control cannot reach, and writes each block's loop depth, by which later phases weigh what they
/// do.
bool analyzeControlFlow(ori::Function& function, PhaseContext&) {
  const bool changed = ori::removeUnreachableBlocks(function);
  ori::setLoopDepths(function, function.analyses().loops());
  return changed;
}

} // namespace orias::phases

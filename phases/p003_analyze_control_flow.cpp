#include "ori/analysis/cfg.h"
#include "ori/analysis/dominators.h"
#include "ori/analysis/loops.h"
#include "ori/cfg_edit.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 3. Drops what control cannot reach, and writes each block's loop depth, by which later phases weigh what they
/// do.
bool analyzeControlFlow(ori::Function& function, PhaseContext&) {
  const bool changed = ori::removeUnreachableBlocks(function);
  const ori::Cfg cfg(function);
  ori::setLoopDepths(function, ori::Loops(cfg, ori::DomTree::dominators(cfg)));
  return changed;
}

} // namespace orias::phases

#include "ori/cfg_edit.h"
#include "phases/branch_conditions.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 112. The machine falls through to the next instruction only. Branches are added or inverted so that every
/// fall-through is the next block of the layout, which has the source's order. Before this phase, branches may not have
/// two conditions or a uniform one.
bool placeBlocksInSourceOrder(ori::Function& function, PhaseContext& context) {
  bool changed = ori::makeFallthroughsAdjacent(function);
  if (context.optLevel > 0) {
    changed |= useUniformConditions(function);
    changed |= splitBranchConditions(function);
  }
  return changed;
}

} // namespace orias::phases

#include "phases/p133_merge_equivalent_conditional_flow.h"

#include "phases/phases.h"

namespace orias::phases {

/// Phase 133. What happens alike on different ways is written once: ends of blocks that lead to the same places, whole
/// blocks, and branches in a row to one place. It stands where the inventory has it, on virtual registers: later, each
/// side has been optimised on its own, and the two no longer look alike. Phase 136 does the same for what registers and
/// the way out of SSA form make equal.
bool mergeEquivalentConditionalFlow(ori::Function& function, PhaseContext& context) {
  const bool isMerged = mergeEqualEnds(function, context);
  return joinBranches(function, context) || isMerged;
}

} // namespace orias::phases

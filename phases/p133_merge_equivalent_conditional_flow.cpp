#include "phases/p133_merge_equivalent_conditional_flow.h"

#include "phases/phases.h"

namespace orias::phases {

/// Phase 133. Merges equal code on different paths: ends of blocks with the same successors, whole blocks, and
/// consecutive branches to one target. It runs where the inventory has it, on virtual registers: later, each side has
/// been optimized separately, and the two no longer look alike. Phase 136 does the same for code that register
/// allocation and leaving SSA form make equal.
bool mergeEquivalentConditionalFlow(ori::Function& function, PhaseContext& context) {
  const bool isMerged = mergeTails(function, context);
  return mergeBranchChains(function, context) || isMerged;
}

} // namespace orias::phases

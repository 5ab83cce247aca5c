#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Tail merging of blocks with the same successors. True if there were any.
bool mergeTails(ori::Function& function, PhaseContext& context);

/// Merges two consecutive branches to one target. True if there were any.
bool mergeBranchChains(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Merges phis of one block that differ by a constant in every iteration, if this adds no instruction: all uses of the
/// merged phi can absorb the constant, and its step has no other use. For SSA form; inserts an addition for each merged
/// phi, which its uses then absorb.
bool mergeInductionVariables(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Merges phis of one block that differ by a constant in every iteration, if this adds no instruction: all uses
/// of the other can hold the constant, and its step has no other use. For SSA form; leaves an addition for each,
/// which those uses absorb.
bool joinCounters(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

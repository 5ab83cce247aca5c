#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Phis of one block that differ by a number in every round become one, where nothing is computed for it: all readers
/// of the other have room for the number, and what stepped it was for it alone. For SSA form; leaves a sum for each,
/// which those readers take up.
bool joinCounters(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

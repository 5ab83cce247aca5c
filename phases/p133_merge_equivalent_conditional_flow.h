#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Blocks that lead to the same places and end alike share that end. True when there were any.
bool mergeEqualEnds(ori::Function& function, PhaseContext& context);

/// Two branches in a row to one place become one. True when there were any.
bool joinBranches(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

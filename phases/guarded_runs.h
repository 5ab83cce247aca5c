#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Branches around long runs of instructions under one guard that is an equality comparison, so few lanes pass: warps
/// without such a lane skip the run, and the instructions lose the guard. PTX compilers emit such runs as code for one
/// thread, for example for the fields of a tensor map. Instructions between them that only compute, and are not under
/// the guard, move before the branch.
bool branchAroundGuardedRuns(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// A long row of instructions under one guard that few lanes pass, since it compares for equality: the warps without
/// such a lane branch around it, and the instructions lose the guard. PTX compilers write code for one thread so, such
/// as the fields of a tensor map. Instructions between them that only compute, and are not under the guard, go before
/// the branch.
bool branchAroundGuardedRuns(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

// Balance of the integer pipe and the multiplier: many instructions have a form for either.

#include "phases/phase.h"

namespace orias::phases {

/// Gives the integer pipe's moves, shifts to the left and sums to the multiplier, where that has less to do, and the
/// other way round. Both take an instruction in two cycles only, so that the warps of a full multiprocessor wait for
/// the busier one. Each loop is balanced by itself, without the loops in it; cold blocks are left as they are.
/// Returns true if something changed.
bool balancePipes(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "ori/function.h"
#include "regalloc/spill.h"

namespace orias::regalloc {

/// Removes moves from another register file whose value a register still has: moves of predicates and uniform registers
/// that are spilled to R and UR, and of values of R that are spilled to UR. If the move's own register has lost the
/// value, but another one has it up to the only reader, the reader uses that one. Homes that become unused are no
/// longer written. `state.assignment` has all locations; the checker sees the remaining code.
///
/// Accounts for calls and `setmaxnreg`, which change registers that are not their operands. Not for functions that are
/// called or grow the stack.
void forwardCrossFileMoves(ori::Function& function, SpillState& state);

} // namespace orias::regalloc

#pragma once

#include "ori/function.h"
#include "regalloc/spill.h"

namespace orias::regalloc {

/// Removes moves out of another register file whose value a register still has: of spilled predicates and uniform
/// registers, which wait in R and UR, and of values of R that wait in UR. Where the move's own register has lost the
/// value and another one has it up to the only reader, that one is read. Then homes that nobody reads any more are not
/// written, either. `state.assignment` has all locations; the checker sees what is left.
///
/// Calls and `setmaxnreg` change registers that are not their operands. Not for functions that are called or grow the
/// stack.
void forwardRefugeMoves(ori::Function& function, SpillState& state);

} // namespace orias::regalloc

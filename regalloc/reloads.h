#pragma once

#include "regalloc/spill.h"

namespace orias::regalloc {

/// Removes reloads of values that a register still holds. A word of a spill slot is in a register from its store or
/// reload until either is overwritten; at a join, if it is there on all incoming edges, and the join is not a loop
/// header. The use gets that register, and no other value moves, so this works under any register pressure.
/// `state.assignment` has all locations; the checker sees the remaining code.
///
/// The same for constants that are rematerialized. Also removes stores of values that a word holds already. Accounts
/// for calls and `setmaxnreg`, which change registers that are not their operands. Not for functions that are called or
/// grow the stack.
void forwardReloads(ori::Function& function, SpillState& state);

} // namespace orias::regalloc

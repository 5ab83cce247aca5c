#pragma once

#include "regalloc/spill.h"

namespace orias::regalloc {

/// Removes reloads of values that a register still holds, and stores that nobody reads then. A word of a spill slot is
/// in a register from its store or reload until either is written again; where paths meet, if it is there on all of
/// them, and the meeting is not the beginning of a loop. The reader takes that register, and nothing else moves: other
/// values are where they were, so that the pressure does not matter. `state.assignment` has all places; the checker
/// sees what is left.
///
/// Not for functions with calls, products of warp groups or `setmaxnreg`, which change registers that no operand names.
void forwardReloads(ori::Function& function, SpillState& state);

} // namespace orias::regalloc

#pragma once

// Balances the integer pipe and the multiplier: many instructions have a form for either.

#include "phases/phase.h"

namespace orias::phases {

/// Moves copies, left shifts and additions from the integer pipe to the multiplier if that has less load, and vice
/// versa. Both accept an instruction only every two cycles, so the warps of a full SM wait for the busier one. Each
/// loop is balanced separately, without the loops in it; cold blocks are not changed. Returns true if something
/// changed.
bool balancePipes(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Hoists loads of global memory from a join before the branch whose arms reconverge there: the arms run while the
/// loads are in flight. All lanes execute both places. In unrolled loops, the loads of several iterations then overlap.
/// Loads in a single arm are hoisted as well, under its condition.
bool hoistLoadsOverJoins(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

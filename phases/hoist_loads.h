#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Loads of global memory behind a join are issued in front of the branch whose arms meet there: the arms are executed
/// while they wait. All lanes execute both places. In unrolled loops, loads of several iterations wait together.
/// Loads of an only arm go there, too, under its condition.
bool hoistLoadsOverJoins(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

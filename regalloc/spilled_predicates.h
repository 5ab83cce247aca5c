#pragma once

#include "regalloc/spill.h"

namespace orias::regalloc {

/// Simplifies PLOP3s on predicates that are spilled to registers of file R as 0 or 1. If all sources are reloaded, LOP3
/// combines the words, and its result is stored directly if it is only spilled. If one of two sources is reloaded, the
/// ISETP that reloads it combines it with the other source. Call it after the allocation of file P and before that of
/// file R. Returns whether it changed the code.
bool combineSpilledPredicates(ori::Function& function, SpillState& state);

} // namespace orias::regalloc

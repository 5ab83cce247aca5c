#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Removes fences between the threads' view of memory and that of the asynchronous units (FENCE.VIEW.ASYNC) where an
/// earlier one in the block does: in between nothing but initialisations of mbarriers accesses memory. ptxas 13.0 has
/// one fence in front of a row of mbarrier.init (observed).
bool dropRepeatedFences(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

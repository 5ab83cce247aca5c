#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Removes fences between the threads' view of memory and that of the asynchronous units (FENCE.VIEW.ASYNC) if an
/// earlier fence in the block suffices: in between, only initializations of mbarriers access memory. ptxas 13.0 emits
/// one fence before a sequence of mbarrier.init (observed).
bool dropRepeatedFences(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

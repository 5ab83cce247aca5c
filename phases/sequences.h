#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Drops marks of registers in use, now that registers are given out and no spill code comes between.
bool dropRegisterMarks(ori::Function& function);

/// Puts three loads that never happen in front of each asynchronous copy (LDGSTS) that follows a barrier, another
/// access to shared memory or the start of its block. They stay next to the copy only if nothing is scheduled
/// afterwards. Observed: ptxas for sm_80 to sm_90.
bool insertIdleLoads(ori::Function& function);

} // namespace orias::phases

#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Drops marks of registers in use, now that registers are given out and no spill code comes between.
bool dropRegisterMarks(ori::Function& function);

/// In functions with asynchronous copies (LDGSTS): puts loads that never happen between an access to shared memory, a
/// barrier or the start of a block, and what follows in it: three in front of a copy, four in front of a fence or of an
/// arrival for copies. They stay there only if nothing is scheduled afterwards. Observed: ptxas for sm_80 to sm_90.
bool insertIdleLoads(ori::Function& function);

} // namespace orias::phases

#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Removes KEEP pseudo instructions after allocation, when no more spill code is inserted.
bool dropRegisterMarks(ori::Function& function);

/// In functions with asynchronous copies (LDGSTS): inserts predicated-off loads between an access to shared memory, a
/// barrier or the start of a block, and certain later instructions: three before a copy, four before a fence or an
/// arrival for copies. No scheduling may follow. Observed: ptxas for sm_80 to sm_90.
bool insertIdleLoads(ori::Function& function);

} // namespace orias::phases

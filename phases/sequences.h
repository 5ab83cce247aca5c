#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Puts next to instructions what must stand there, now that registers are given out and no spill code comes between:
/// waits around products of a warp group, and idle loads in front of asynchronous copies. Drops marks of registers in
/// use.
bool completeSequences(ori::Function& function);

} // namespace orias::phases

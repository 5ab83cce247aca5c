#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Swaps the operands of loop exit comparisons, so that the value that changes in the loop is the first and the limit
/// the second, as phases 21, 22 and 59 expect. Loops that synchronize are left alone. True if something changed.
bool orientLoopTests(ori::Function& function);

} // namespace orias::phases

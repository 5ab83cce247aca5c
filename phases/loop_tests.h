#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Exchanges the operands of comparisons on which loops end, so that what changes in the loop is the first and the
/// limit the second, where phases 21, 22 and 59 look for them. Loops that synchronize stay. True when something
/// changed.
bool orientLoopTests(ori::Function& function);

} // namespace orias::phases

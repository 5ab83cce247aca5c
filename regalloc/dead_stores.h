#pragma once

#include "regalloc/spill.h"

namespace orias::regalloc {

/// Removes stores to spill slots whose words are overwritten on all paths before any read, or never read.
void removeDeadStores(ori::Function& function, SpillState& state);

} // namespace orias::regalloc

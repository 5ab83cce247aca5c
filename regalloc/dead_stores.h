#pragma once

#include "regalloc/spill.h"

namespace orias::regalloc {

/// Removes stores to spill slots whose words are stored again on all paths before anything reads them, or never read.
void removeDeadStores(ori::Function& function, SpillState& state);

} // namespace orias::regalloc

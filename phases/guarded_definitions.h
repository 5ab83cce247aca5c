#pragma once

#include "ori/function.h"

namespace orias::phases {

/// A guarded definition that computes becomes a plain one of a new register and a SEL, where that brings a register
/// into SSA form that its guarded definitions keep out of it: `@p IADD3 r, r, c` is `t = r + c; r = p ? t : r` then.
/// Not for SSA form. Phase 83 makes guarded instructions of what is still a choice there. True if anything changed.
bool chooseGuardedResults(ori::Function& function);

} // namespace orias::phases

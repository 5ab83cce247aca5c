#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Turns a guarded computation into an unguarded one of a new register and a SEL, if the guarded definitions are all
/// that keeps a register out of SSA form: `@p IADD3 r, r, c` becomes `t = r + c; r = p ? t : r`. Not for SSA form.
/// Phase 83 restores guarded instructions where the select is still there. True if anything changed.
bool chooseGuardedResults(ori::Function& function);

} // namespace orias::phases

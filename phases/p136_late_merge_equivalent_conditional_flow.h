#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Blocks aside that compute the same in different registers become one subroutine of the kernel, where registers are
/// free for it. True when there were any.
bool shareWorkAside(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

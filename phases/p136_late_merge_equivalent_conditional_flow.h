#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Outlines cold blocks that compute the same in different registers to one subroutine of the kernel, if registers are
/// free for it. True when there were any.
bool outlineColdBlocks(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// In cold blocks, constants and special registers are loaded again after each call instead of living across it:
/// there a value takes one of the registers that calls preserve, which begin at R16. Returns how many loads were added.
unsigned reloadAfterColdCalls(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

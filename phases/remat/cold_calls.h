#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// In cold blocks, reloads constants and special registers after each call instead of keeping them live across it,
/// where a value takes one of the registers that calls preserve, which begin at R16. Returns how many loads were added.
unsigned reloadAfterColdCalls(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Demotes 64-bit induction variables that fit in 32 bits: their high words are removed, and uses of
/// these get zero, or the sign of the low word. Knob RematIv sets the level. True if anything changed.
bool demoteHighWords(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

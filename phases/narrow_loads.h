#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Part of phases 49 and 64: narrows a weak load of several words to the used part, if that is one word or an aligned
/// half. Must run after equal loads are removed, which may use the rest. For SSA form. True if anything changed.
bool narrowLoads(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Part of phases 49 and 64: a weak load of several words of which only one, or only an aligned half, is read loads no
/// more than that. Behind the removal of equal loads, which may read the rest. For SSA form. True if anything changed.
bool narrowLoads(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Loops with their test at the top get it at the bottom, and a copy of it as a guard in front: one branch in an
/// iteration instead of two. For loops with one back edge, not in SSA form. True when something changed.
bool rotateLoops(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Loop rotation: moves the test from the top to the bottom, with a copy as a guard before the loop: one branch per
/// iteration instead of two. For loops with one backedge, not in SSA form. True if something changed.
bool rotateLoops(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

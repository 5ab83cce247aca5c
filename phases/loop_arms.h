#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// In innermost loops, converts short arms that only compute to straight-line code before SSA form: they are executed
/// in all lanes, into new registers, and SEL takes their results under the condition of the branch. Phase 63 would do
/// so later, but phase 22 overlaps only iterations of loops of one block. True if something changed.
bool predicateLoopArms(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// In innermost loops, short arms that only compute become straight code before SSA form: they are executed in all
/// lanes, into registers of their own, and SEL takes their results under the condition of the branch. Phase 63 would do
/// so later, but phase 22 overlaps the iterations of loops of one block only. True when something changed.
bool predicateLoopArms(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Part of phases 49 and 64: a weak load of what an earlier load has read, or an earlier store has written, on all
/// paths to it becomes a copy, as far as registers last (optimize/shared_pressure.h). True if there was one.
bool shareLoads(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

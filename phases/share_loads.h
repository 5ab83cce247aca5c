#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Part of phases 49 and 64: a weak load becomes a copy if on all paths to it an earlier load has read, or an earlier
/// store has written, the same memory. Limited by register pressure (optimize/shared_pressure.h). True if there was
/// one.
bool shareLoads(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Removes loops that compute nothing: no memory is read or written, nothing waited for, no result read behind the
/// loop, and there is one block to leave for. Whether such a loop ends is not asked, as in ptxas (observed). Not in SSA
/// form.
bool removeEmptyLoops(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

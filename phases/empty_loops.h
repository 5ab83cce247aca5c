#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Removes loops that compute nothing: they do not read or write memory, do not wait, have no result that is used after
/// the loop, and leave to one block only. Assumes that such a loop ends, as ptxas does (observed). Not in SSA form.
bool removeEmptyLoops(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#include "phases/constant_moves.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 81. Repeats the peepholes of phase 75 on the remaining code. Before Hopper, loads of constants at known
/// addresses become moves (constant_moves.h).
bool lateArchOptimizeSecond(ori::Function& function, PhaseContext& context) {
  const bool changed = lateArchOptimizeFirst(function, context);
  return moveConstants(function) || changed;
}

} // namespace orias::phases

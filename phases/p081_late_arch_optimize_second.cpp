#include "phases/constant_moves.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 81. The peepholes of phase 75 on what is left; before Hopper, constants that stand in registers are moved
/// there and not loaded.
bool lateArchOptimizeSecond(ori::Function& function, PhaseContext& context) {
  const bool changed = lateArchOptimizeFirst(function, context);
  return moveConstants(function) || changed;
}

} // namespace orias::phases

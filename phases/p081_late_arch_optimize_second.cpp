#include "phases/phases.h"

namespace orias::phases {

/// Phase 81. The peepholes of phase 75 on what is left.
bool lateArchOptimizeSecond(ori::Function& function, PhaseContext& context) {
  return lateArchOptimizeFirst(function, context);
}

} // namespace orias::phases

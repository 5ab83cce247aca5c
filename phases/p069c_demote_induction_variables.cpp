#include "phases/phases.h"
#include "phases/remat/demote_counters.h"

namespace orias::phases {

/// Phase 69c. A counter of 64 bits takes two registers around its loop, and two instructions a round; where it is
/// proved to stay within 32 bits, it takes half of that. Sums in 64 bits of a 32-bit target are two instructions by
/// now, so a counter is two phis of which the high one goes.
bool demoteInductionVariables(ori::Function& function, PhaseContext& context) {
  return function.ssa && demoteCounters(function, context);
}

} // namespace orias::phases

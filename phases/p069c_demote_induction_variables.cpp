#include "phases/phases.h"
#include "phases/remat/demote_induction_variables.h"

namespace orias::phases {

/// Phase 69c. A 64-bit counter takes two registers around its loop and two instructions per iteration. One that is
/// proved to stay within 32 bits takes half of that. 64-bit sums are two 32-bit instructions by now, so a counter is
/// two phis, and the high one is deleted.
bool demoteInductionVariables(ori::Function& function, PhaseContext& context) {
  return function.ssa && demoteHighWords(function, context);
}

} // namespace orias::phases

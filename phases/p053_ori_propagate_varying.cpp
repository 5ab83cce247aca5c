#include "ori/analysis/analyses.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phases 53 and 70. Finds which values differ from lane to lane (ori/analysis/divergence.h) and marks their registers.
/// The second run covers code that has been made or moved since. There are no calls here any more: the function's code
/// serves all call sites, and the fixed point over calls is the one within the function.
bool oriPropagateVarying(ori::Function& function, PhaseContext&) {
  return ori::storeDivergence(function, function.analyses().divergence());
}

} // namespace orias::phases

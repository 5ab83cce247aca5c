#include "ori/analysis/analyses.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phases 53 and 70. Finds which values differ from lane to lane (ori/analysis/divergence.h) and marks their registers.
/// The second time, what optimisation has made or moved since is judged anew. There are no calls here any more: a
/// function stands for all of its callers' sites, and the fixed point over calls is that within the function.
bool oriPropagateVarying(ori::Function& function, PhaseContext&) {
  return ori::storeDivergence(function, function.analyses().divergence());
}

} // namespace orias::phases

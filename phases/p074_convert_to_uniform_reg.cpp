#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "phases/phases.h"
#include "phases/uniform/constant_addends.h"
#include "phases/uniform/constants.h"
#include "phases/uniform/convert.h"
#include "phases/uniform/cross_file_copies.h"
#include "phases/uniform/double_constants.h"
#include "phases/uniform/invariant_subexpressions.h"
#include "phases/uniform/late_values.h"

namespace orias::phases {

/// Phase 74. Values that are the same in all lanes of a warp are computed once, on the uniform datapath, and kept in
/// one uniform register instead of one register per lane. phases/uniform/plan.h has the conditions. Copies have
/// replaced the phis already, so every definition and use is visible. Constants of non-uniform code use uniform
/// registers too, where that suits the chip (knob UniformRegForConstants), and otherwise operands that can hold them.
/// Values that the warp gets from its lanes are moved once per block. Computations on two loop-invariant values are
/// moved before the loop (phases/uniform/invariant_subexpressions.h). Knob UniformRegMode (687): 0 disables the phase.
bool convertToUniformReg(ori::Function& function, PhaseContext& context) {
  if (ori::mayRunDivergent(function))
    return false; // parts of a warp share its uniform registers then (phases/uniform/local_values.h)
  if (!context.target.has(isa::Capability::UniformRegisters) || !context.knobs.enabled(Knob::UniformRegMode))
    return false;
  const unsigned parts = hoistInvariantSubexpressions(function, context);
  const ori::Divergence& divergence = function.analyses().divergence();
  const UniformPlan plan = planUniform(function, divergence, context);
  const unsigned moved = convertToUniform(function, plan, divergence);
  const unsigned constants = readsConstantsFromUniform(context) ? moveConstantOperands(function, divergence, context)
                                                                : nameConstantOperands(function, divergence, context);
  const unsigned doubles = moveDoubleConstants(function, context);
  const unsigned copies = shareCrossFileCopies(function);
  return parts + moved + constants + doubles + copies + delayUniformValues(function, context) != 0;
}

} // namespace orias::phases

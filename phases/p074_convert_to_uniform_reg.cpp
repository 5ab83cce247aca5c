#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "phases/phases.h"
#include "phases/uniform/bridges.h"
#include "phases/uniform/constant_addends.h"
#include "phases/uniform/constants.h"
#include "phases/uniform/convert.h"
#include "phases/uniform/double_constants.h"
#include "phases/uniform/invariant_parts.h"
#include "phases/uniform/late_values.h"

namespace orias::phases {

/// Phase 74. What all lanes of a warp compute alike is computed once, on the uniform datapath, and kept in one register
/// of the warp instead of one for each lane. phases/uniform/plan.h has the conditions. Copies have replaced the phis
/// already: every definition and use is in sight. Constants that the rest reads come in uniform registers too, where
/// the chip likes that (knob UniformRegForConstants), else as operands where they have room, and values that the warp
/// gets from its lanes come once in a block. What depends on two loop-invariant values is computed before the loop
/// (phases/uniform/invariant_parts.h). Knob UniformRegMode (687): 0 leaves all values where they are.
bool convertToUniformReg(ori::Function& function, PhaseContext& context) {
  if (ori::mayRunApart(function)) return false; // a warp has nothing to itself then (phases/uniform/local_values.h)
  if (!context.target.has(isa::Capability::UniformRegisters) || !context.knobs.enabled(Knob::UniformRegMode))
    return false;
  const unsigned parts = hoistInvariantParts(function, context);
  const ori::Divergence& divergence = function.analyses().divergence();
  const UniformPlan plan = planUniform(function, divergence, context);
  const unsigned moved = convertToUniform(function, plan, divergence);
  const unsigned constants = readsConstantsFromUniform(context) ? moveConstantOperands(function, divergence, context)
                                                                : nameConstantOperands(function, divergence, context);
  const unsigned doubles = moveDoubleConstants(function, context);
  const unsigned bridges = shareBridges(function);
  return parts + moved + constants + doubles + bridges + delayUniformValues(function, context) != 0;
}

} // namespace orias::phases

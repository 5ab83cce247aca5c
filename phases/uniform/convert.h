#pragma once

#include "phases/uniform/plan.h"

namespace orias::phases {

/// Rewrites the function as planned. Values that move get registers of the files UR and UP. Where somebody needs one in
/// the other file, a bridge stands in front of the first that does in its block, or behind the writers, as the plan
/// says: COPY to the lanes, R2UR or VOTEU to the warp, ULDC for constant banks (in front of loops), UMOV for numbers.
/// Returns how many instructions moved.
unsigned convertToUniform(ori::Function& function, const UniformPlan& plan, const ori::Divergence& divergence);

} // namespace orias::phases

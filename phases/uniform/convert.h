#pragma once

#include "phases/uniform/plan.h"

namespace orias::phases {

/// Rewrites the function according to the plan. Values that move get registers of the files UR and UP. For a use in the
/// other file, a cross-file copy is inserted before the first use in its block, or after the definitions, as planned:
/// COPY to R or P, R2UR or VOTEU to UR or UP, ULDC for constant banks (in preheaders), UMOV for constants. Returns how
/// many instructions moved.
unsigned convertToUniform(ori::Function& function, const UniformPlan& plan, const ori::Divergence& divergence);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// 64-bit floating-point constants whose low word is not zero have no place in an instruction. Where all that read such
/// a constant accept a uniform register, it gets one in each block that reads it, in divergent code too: it is not live
/// from one block to the next. Constants that come from outside the innermost loop stay there. ptxas does the same from
/// sm_90 on (observed). Returns how many constants moved.
unsigned moveDoubleConstants(ori::Function& function, const PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// 64-bit floating-point constants whose low word is not zero cannot be operands. If all readers of such a constant
/// accept a uniform register, each block that reads it gets one, divergent blocks too: it is not live across blocks.
/// Constants from outside the innermost loop are not moved into it. ptxas does the same from sm_90 on (observed).
/// Returns how many constants moved.
unsigned moveDoubleConstants(ori::Function& function, const PhaseContext& context);

} // namespace orias::phases

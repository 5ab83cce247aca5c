#pragma once

#include "ori/function.h"

namespace orias::phases {

/// In code that may execute divergently (ori::mayRunDivergent), uniform registers may change while a part of the warp
/// waits for its turn, which can be at the end of any block. So none may be live across blocks, nor across a call:
/// values are rematerialized, or kept in vector registers meanwhile. Returns whether anything changed.
bool keepUniformValuesLocal(ori::Function& function);

} // namespace orias::phases

#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// p := a cmp b on 64 bits: the low words unsigned, then the high words with the low result (observed).
void compare64(FunctionLowering& f, isa::Operand p, isa::Operand a, isa::Operand b, isa::ICmp cmp, isa::IntType type);

/// d := the high 64 bits of a * b.
void multiplyHigh64(FunctionLowering& f, isa::Operand d, isa::Operand a, isa::Operand b, bool isSigned);

} // namespace orias::ptx

#pragma once

#include "frontend/lower/families.h"

namespace orias::ptx {

/// d := the smaller or larger of two f64. The result is NaN only if both operands are.
void minMaxF64(FunctionLowering& f, isa::Operand d, isa::Operand a, isa::Operand b, bool minimum);

/// add sub mul fma abs neg min max of f16, bf16 and pairs of them.
void lowerHalfArith(FunctionLowering& f, const Instruction& i, const Form& form);

} // namespace orias::ptx

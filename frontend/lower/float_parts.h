#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// d := the smaller or larger of two f64; a NaN only where both are.
void minMaxF64(FunctionLowering& f, isa::Operand d, isa::Operand a, isa::Operand b, bool minimum);

/// Whether the later expansion of macro instructions (phase 5) has an exact sequence for this one.
bool supportsMacro(IsaOp macro, Type type, isa::MacroKind kind, bool ftz);

} // namespace orias::ptx

#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// The descriptor of an access to global memory: the policy for L2 that a `.L2::cache_hint` names as its last operand,
/// or the one that all other accesses have. A policy is a hint, so lanes that disagree all get the first one's
/// (observed).
isa::Operand accessDescriptor(FunctionLowering& f, const Instruction& i, const Form& form);

} // namespace orias::ptx

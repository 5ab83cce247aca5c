#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// The descriptor of an access to global memory: the L2 policy in the last operand of `.L2::cache_hint`, or the default
/// of all other accesses. A policy is a hint, so all lanes get the policy of the first lane (observed).
isa::Operand accessDescriptor(FunctionLowering& f, const Instruction& i, const Form& form);

} // namespace orias::ptx

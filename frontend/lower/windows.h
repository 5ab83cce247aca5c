#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// The generic address, a pair of registers, of an address in the space of parameters, of constants, of shared or of
/// local memory, of one or two words.
isa::Operand genericAddress(FunctionLowering& f, StateSpace space, isa::Operand address);

} // namespace orias::ptx

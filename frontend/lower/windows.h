#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// Converts an address of one or two words in the space of parameters, constants, shared or local memory to a generic
/// address, a register pair.
isa::Operand genericAddress(FunctionLowering& f, StateSpace space, isa::Operand address);

} // namespace orias::ptx

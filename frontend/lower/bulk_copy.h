#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// What is done to the map of a tensor where the unit that copies keeps it: forgotten, or fetched. Values of UTMACCTL.
enum class TensorMapControl { Invalidate, Prefetch };
/// `address`: generic, 64 bits.
void controlTensorMap(FunctionLowering& f, isa::Operand address, TensorMapControl control);

} // namespace orias::ptx

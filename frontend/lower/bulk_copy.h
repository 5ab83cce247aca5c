#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// What to do with a tensor map in the cache of the copy unit: invalidate or fetch it. Values of UTMACCTL.
enum class TensorMapControl { Invalidate, Prefetch };
/// `address`: generic, 64 bits.
void controlTensorMap(FunctionLowering& f, isa::Operand address, TensorMapControl control);

} // namespace orias::ptx

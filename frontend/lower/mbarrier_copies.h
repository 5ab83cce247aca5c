#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// Signals the barrier at `a` when each lane's copies are done. The instruction takes the address from a uniform
/// register; lanes with other addresses follow in a loop. Not under a guard (see FunctionLowering::beginUnguarded).
void emitArrivalAfterCopies(FunctionLowering& f, const Address& a, std::initializer_list<ModValue> mods);

} // namespace orias::ptx

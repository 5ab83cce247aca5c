#pragma once

#include "ori/function.h"

namespace orias::regalloc {

/// Gives each frame object its offset from the stack pointer, largest alignment first, and replaces Frame operands by
/// immediates. Returns the size of the frame in bytes, a multiple of 8 (the ABI's stack granule; observed in ptxas'
/// output).
unsigned layOutFrame(ori::Function& function);

/// Puts the stack-pointer set-up at the top of the function: R1 = c[0x0][stack pointer] - frameBytes.
void insertPrologue(ori::Function& function, unsigned frameBytes);

} // namespace orias::regalloc

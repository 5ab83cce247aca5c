#pragma once

#include "ori/function.h"
#include "regalloc/live_ranges.h"

#include <span>

namespace orias::regalloc {

/// What the stack pointer has to be a multiple of, 8 at least.
std::uint32_t frameAlignment(const ori::Function& function);
/// Callers keep stack pointers that are multiples of 8, or of the alignment of their stack parameters: a function that
/// needs more sees to it itself.
bool alignsStack(const ori::Function& function);

/// Gives each frame object its offset from the stack pointer, what is passed to callees first, then largest alignment
/// first, and replaces Frame operands by immediates. Stack parameters are above the frame. Returns the size of the
/// frame in bytes, a multiple of 8 (the ABI's stack granule; observed in ptxas' output).
/// `lives`, by object, says when each is in use (regalloc/frame_lives.h): those that are never in use at once may share
/// bytes. Objects beyond its end are always in use.
unsigned layOutFrame(ori::Function& function, std::span<const Range> lives = {});

/// Has the code reach the frame by the frame pointer, as calls leave the stack pointer elsewhere. To be called when
/// calls are expanded, and before code is made that is to read the stack pointer itself.
void useFramePointer(ori::Function& function);

/// Puts the stack-pointer set-up at the top of the function: R1 = c[0x0][stack pointer] - frameBytes.
void insertPrologue(ori::Function& function, unsigned frameBytes);

/// The same for a function that returns: R1 -= frameBytes at its top, aligned if needed, and restored before each
/// RET.
void insertFrame(ori::Function& function, unsigned frameBytes);

} // namespace orias::regalloc

#pragma once

#include "ori/function.h"
#include "regalloc/frame_record.h"
#include "regalloc/live_ranges.h"

#include <vector>

namespace orias::regalloc {

/// What the stack pointer has to be a multiple of, 8 at least.
std::uint32_t frameAlignment(const ori::Function& function);
/// Callers keep stack pointers that are multiples of 8, or of the alignment of their stack parameters: a function that
/// needs more sees to it itself.
bool alignsStack(const ori::Function& function);

/// What the layout of a frame may use of its objects, by index in Function::frame; all may be empty.
struct FrameFacts {
  /// When each is in use (regalloc/frame_lives.h): those that are never in use at once may share bytes. Objects beyond
  /// its end are always in use.
  std::vector<Range> lives;
  std::vector<FrameCategory> categories; ///< regalloc/frame_record.h
  std::vector<bool> dead;                ///< they get no bytes
};

/// Gives each frame object its offset from the stack pointer, what is passed to callees first, then by category, of
/// each the largest alignment first, and replaces Frame operands by immediates. Stack parameters are above the frame.
/// Returns the size of the frame in bytes, a multiple of 8 (the ABI's stack granule; observed in ptxas' output).
unsigned layOutFrame(ori::Function& function, const FrameFacts& facts = {});

/// Has the code reach the frame by the frame pointer, as calls leave the stack pointer elsewhere. To be called when
/// calls are expanded, and before code is made that is to read the stack pointer itself.
void useFramePointer(ori::Function& function);

/// Puts the stack-pointer set-up at the top of the function: R1 = c[0x0][stack pointer] - frameBytes.
void insertPrologue(ori::Function& function, unsigned frameBytes);

/// The same for a function that returns: R1 -= frameBytes at its top, aligned if needed, and restored before each
/// RET.
void insertFrame(ori::Function& function, unsigned frameBytes);

} // namespace orias::regalloc

#pragma once

#include "ori/function.h"
#include "regalloc/frame_record.h"
#include "regalloc/live_ranges.h"

#include <vector>

namespace orias::regalloc {

/// The required alignment of the stack pointer, at least 8.
std::uint32_t frameAlignment(const ori::Function& function);
/// Whether the function must align its stack pointer. Callers keep it a multiple of 8, or of the alignment of their
/// stack parameters; a function that needs more aligns it itself.
bool alignsStack(const ori::Function& function);

/// What the layout of a frame needs to know of its objects, by index in Function::frame. All may be empty.
struct FrameFacts {
  /// Where each is in use (regalloc/frame_lives.h): objects that are never in use at the same point may share bytes.
  /// Objects beyond its end are always in use.
  std::vector<Range> lives;
  std::vector<ori::FrameCategory> categories; ///< regalloc/frame_record.h
  std::vector<bool> dead;                     ///< objects that get no bytes
};

/// Gives each frame object its offset from the stack pointer and replaces Frame operands by immediates. What is passed
/// to callees comes first, then the objects by category, in each the largest alignment first. Stack parameters are
/// above the frame. Returns the size of the frame in bytes, a multiple of 8 (the ABI's stack granule; observed in
/// ptxas' output).
unsigned layOutFrame(ori::Function& function, const FrameFacts& facts = {});

/// Makes the code address the frame by the frame pointer, as calls change the stack pointer. Call it when calls are
/// expanded, and before inserting code that reads the stack pointer itself.
void useFramePointer(ori::Function& function);

/// Puts the stack-pointer set-up at the top of the function: R1 = c[0x0][stack pointer] - frameBytes.
void insertPrologue(ori::Function& function, unsigned frameBytes);

/// The set-up for a function that returns: R1 -= frameBytes at its top, aligned if needed, and restored before each
/// RET.
void insertFrame(ori::Function& function, unsigned frameBytes);

} // namespace orias::regalloc

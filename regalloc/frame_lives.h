#pragma once

#include "ori/function.h"
#include "regalloc/assignment.h"
#include "regalloc/live_ranges.h"

#include <vector>

namespace orias::regalloc {

/// The points where the bytes of each frame object may hold something that is read later. Objects whose ranges do not
/// overlap can share bytes. By index in Function::frame; empty if nothing is known, and then no two objects share any.
///
/// A word of a spill slot is live from a store to its last reload. An object of the program is live from the first
/// instruction that may access it to the last one: by its name, or by an address derived from it. An object whose
/// address is stored, passed on or lost otherwise is live everywhere.
///
/// The code has spill code and still virtual registers. Takes time proportional to the instructions, times the objects
/// where these are live.
std::vector<Range> frameLives(const ori::Function& function, const Assignment& assignment);

/// What becomes of the addresses of the objects of the program, by index in Function::frame.
struct FrameAddresses {
  std::vector<bool> isInRegister; ///< a register holds an address in the object
  std::vector<bool> escapes;      ///< the address is stored, passed on or lost; also true of objects beyond a bound
};
FrameAddresses frameAddresses(const ori::Function& function, const Assignment& assignment);

} // namespace orias::regalloc

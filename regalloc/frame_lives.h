#pragma once

#include "ori/function.h"
#include "regalloc/assignment.h"
#include "regalloc/live_ranges.h"

#include <vector>

namespace orias::regalloc {

/// Where the bytes of each frame object may hold something that is read later: objects that do not overlap can share
/// bytes. By index in Function::frame; empty if nothing is known, and then no two objects share any.
///
/// A word of a spill slot lives from a store to its last reload. An object of the program lives from the first
/// instruction that may access it to the last one that may: by its name, or by an address that follows from it. An
/// object whose address is stored, passed on or lost otherwise lives everywhere.
///
/// The code is that after spilling, still with virtual registers. Costs the instructions, times the objects where these
/// are live.
std::vector<Range> frameLives(const ori::Function& function, const Assignment& assignment);

/// What becomes of the addresses of the objects of the program, by index in Function::frame.
struct FrameAddresses {
  std::vector<bool> isInRegister; ///< a register holds an address in the object
  std::vector<bool> escapes;      ///< the address is stored, passed on or lost; of objects beyond a bound as well
};
FrameAddresses frameAddresses(const ori::Function& function, const Assignment& assignment);

} // namespace orias::regalloc

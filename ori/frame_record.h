#pragma once

#include <cstdint>
#include <string>

namespace orias::ori {

/// How the code accesses an object of the frame. The layout order is 1, 2, 3, then the others, spill slots last. The
/// numbers and their order are those of the public description, which takes them from stack protection.
enum class FrameCategory : std::uint8_t {
  Named = 0,       ///< by constant offsets only; spill slots
  LargeArray = 1,  ///< by an address in a register, 8 bytes or more
  SmallArray = 2,  ///< by an address in a register, less than 8 bytes
  AddressTaken = 3 ///< its address is stored, passed on or lost
};

/// An object of the frame as it was laid out.
struct FrameRecord {
  std::string name;
  std::int64_t offset = 0; ///< bytes from the stack pointer
  std::uint64_t size = 0;  ///< bytes
  std::uint8_t log2Align = 0;
  bool isDead = false;      ///< no instruction uses it, so it has no bytes
  bool isSpillSlot = false; ///< made by the allocator
  bool isFixed = false;     ///< has a given place: above the frame, where the caller stores arguments
  FrameCategory category = FrameCategory::Named;
};

} // namespace orias::ori

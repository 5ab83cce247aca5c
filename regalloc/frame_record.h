#pragma once

#include "ori/function.h"
#include "regalloc/assignment.h"

#include <cstdint>
#include <string>
#include <vector>

namespace orias::regalloc {

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

/// The categories of all objects, by index in Function::frame. The code has spill code and still virtual registers.
std::vector<FrameCategory> frameCategories(const ori::Function& function, const Assignment& assignment);

/// Which objects no instruction uses, by index in Function::frame. To be called before the layout replaces Frame
/// operands.
std::vector<bool> unnamedObjects(const ori::Function& function);

/// The records, sorted by offset. `dead` and `categories` are those before the layout.
std::vector<FrameRecord> frameRecords(const ori::Function& function, const std::vector<bool>& dead,
                                      const std::vector<FrameCategory>& categories);

/// A table of the records with a header line: the output of knob DumpFrame.
std::string frameTable(const ori::Function& function, const std::vector<FrameRecord>& records);

} // namespace orias::regalloc

#pragma once

#include "encoder/code.h"

#include <vector>

namespace orias::encoder {

/// A machine register is live after the instructions [first, end).
struct LiveRange {
  isa::File file{};
  std::uint32_t reg = 0;
  std::uint32_t first = 0, end = 0;
};

/// The live ranges of the machine registers of an allocated function, by register, in code order: those that
/// registerMap() counts.
std::vector<LiveRange> liveRanges(const ori::Function& function, const FunctionCode& code);

} // namespace orias::encoder

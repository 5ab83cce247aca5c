#pragma once

#include "encoder/code.h"

#include <vector>

namespace orias::encoder {

/// Instructions after which a machine register is live: from `first` on, before `end`.
struct LiveRange {
  isa::File file{};
  std::uint32_t reg = 0;
  std::uint32_t first = 0, end = 0;
};

/// Live ranges of the machine registers of an allocated function, by register, in code order. They
/// are those that registerMap() counts.
std::vector<LiveRange> liveRanges(const ori::Function& function, const FunctionCode& code);

} // namespace orias::encoder

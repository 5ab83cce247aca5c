#pragma once

#include "phases/optimize/rewriter.h"

#include <cstdint>
#include <optional>

namespace orias::phases {

/// (value << count) + other, of 64 bits; the two words of the value are in separate registers, the high one may
/// be RZ. `count` is from 1 to 31.
struct ShiftedSum {
  isa::Operand low, high, other;
  std::int32_t count;
};

/// The shifted sum that an IADD64 computes, if two left funnel shifts compute one of its terms. shifted_sums.cpp
std::optional<ShiftedSum> shiftedSum(const Rewriter& rw, const ori::Instr& instr);

} // namespace orias::phases

#pragma once

#include "encoder/isa/target.h"
#include "phases/phase.h"

#include <algorithm>

namespace orias::phases {

/// So many registers for each of 2048 threads, the most that a multiprocessor runs, are as many as it has.
inline constexpr unsigned kRegistersOfFullHouse = 32;

/// How many registers may be live before fewer warps fit on a multiprocessor than with `live` of them. Those of a full
/// house cost nothing, however few are live.
inline unsigned registersUpToCliff(unsigned live, const PhaseContext& context) {
  constexpr unsigned kUnit = 8; // registers are handed out in steps of eight per thread
  const unsigned reserved = context.target.reservedRegisters();
  const unsigned total = (live + reserved + kUnit - 1) / kUnit * kUnit;
  return std::min(std::max(total, kRegistersOfFullHouse) - reserved, context.maxRegisters);
}

} // namespace orias::phases

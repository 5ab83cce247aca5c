#pragma once

#include "encoder/isa/target.h"
#include "phases/phase.h"

#include <algorithm>

namespace orias::phases {

/// So many registers for each of 2048 threads, the most that a multiprocessor runs, are as many as it has.
inline constexpr unsigned kRegistersOfFullHouse = 32;

/// So many registers a thread gets that wants `live` and those that every kernel has: they are handed out in steps of
/// eight.
inline unsigned registersHandedOut(unsigned live, const PhaseContext& context) {
  constexpr unsigned kUnit = 8;
  return (live + context.target.reservedRegisters() + kUnit - 1) / kUnit * kUnit;
}

/// How many registers may be live before fewer warps fit on a multiprocessor than with `live` of them. Those of a full
/// house cost nothing, however few are live.
inline unsigned registersUpToCliff(unsigned live, const PhaseContext& context) {
  const unsigned total = std::max(registersHandedOut(live, context), kRegistersOfFullHouse);
  return std::min(total - context.target.reservedRegisters(), context.maxRegisters);
}

} // namespace orias::phases

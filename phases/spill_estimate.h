#pragma once

// How much spill code an order of a region needs.

#include "phases/region_values.h"

#include <span>

namespace orias::phases {

/// Instructions between registers and memory; for predicates, between the file and vector registers.
struct SpillCode {
  unsigned stores = 0, loads = 0;
};

/// The spill code of an order of all instructions that a schedule moves, with so many registers of a file, R or P: of
/// the values that are not needed at once, the one that is read last waits in memory (Belady's rule).
SpillCode spillCodeOf(const RegionValues& values, std::span<const std::uint32_t> order, unsigned registers,
                      std::size_t file);

} // namespace orias::phases

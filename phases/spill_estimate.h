#pragma once

// The amount of spill code that a schedule of a region needs.

#include "phases/region_values.h"

#include <span>

namespace orias::phases {

/// Moves between registers and memory; for predicates, between the file and vector registers.
struct SpillCode {
  unsigned stores = 0, loads = 0;
};

/// The spill code of a schedule of all instructions of a region, with a given number of registers of a file, R or P. Of
/// the values that are not needed at once, the one whose next use is last is spilled (Belady's rule).
SpillCode spillCodeOf(const RegionValues& values, std::span<const std::uint32_t> order, unsigned registers,
                      std::size_t file);

} // namespace orias::phases

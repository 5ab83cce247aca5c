#pragma once

#include "ori/analysis/convergence.h"

#include <cstddef>
#include <vector>

namespace orias::ori {

/// Removes regions whose waits form a cycle: lanes wait at one reconvergence point for a lane that waits at another
/// one, and vice versa. Regions without leaving edges are nested and cannot be in a cycle. Returns the reconvergence
/// points of the removed regions.
std::vector<BlockId> dropCyclesOfWaits(const Cfg& cfg, std::vector<ConvergenceRegion>& regions);

/// Removes as few as possible of the regions from `first` on until no waits form a cycle; first those that save the
/// fewest instructions (`saved`, by reconvergence point). The other regions are in no cycle.
void dropCyclesOfWaits(const Cfg& cfg, std::vector<ConvergenceRegion>& regions, std::size_t first,
                       const std::vector<unsigned>& saved);

} // namespace orias::ori

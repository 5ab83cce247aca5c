#pragma once

#include "regalloc/live_ranges.h"

#include <vector>

namespace orias::regalloc {

/// A set of virtual registers that share one run of physical registers: members of a coalesced chain of copies, each at
/// an offset inside the run.
struct Web {
  unsigned width = 1;
  unsigned align = 1;
  std::vector<Range> components;                         ///< where each register of the run is live
  std::vector<std::pair<ori::VRegId, unsigned>> members; ///< with their offsets
  double weight = 0;                                     ///< references, each by weightOf; infinite: cannot be spilled
  double spillCost = 0;                                  ///< the weight divided by the live length
  Point start = 0;
};

/// Where any register of the run is occupied.
Range envelope(const Web& web);

/// The webs of one register file.
struct Webs {
  std::vector<Web> all;
  std::vector<std::uint32_t> webOf; ///< by virtual register; ~0 for registers of other files or never live
  std::vector<std::uint8_t> offsetOf;

  /// The highest number of occupied registers at one point: equal values in one register count once.
  unsigned mostOccupied(Point pointCount) const {
    return mostAtOnce(pointCount, [&](auto&& f) {
      for (const Web& web : all)
        std::for_each(web.components.begin(), web.components.end(), f);
    });
  }
};

/// The weight of a reference by this instruction in Web::weight: the estimated frequency of its block.
double weightOf(const ori::Instr& instr);

/// The words of a spill slot that a virtual register is a copy of. For parts of a spilled value that are in registers.
struct Home {
  std::uint32_t object = ~0u; ///< in Function::frame; ~0: none
  unsigned word = 0;
  bool exists() const { return object != ~0u; }
};

struct WebOptions {
  bool coalesce = true;
  std::vector<bool> unspillable = {}; ///< by virtual register (temporaries of spill code)
  std::vector<Home> homes = {};       ///< by virtual register; empty: none has one
};

/// Builds webs, and joins the two sides of copies (COPY, PHI, plain moves inside tuples) whose live ranges do not
/// conflict: they are disjoint, or of file R and overlap only where one is a copy of the other.
Webs buildWebs(const ori::Function& function, isa::File file, const LiveRanges& ranges, const WebOptions& options);

} // namespace orias::regalloc

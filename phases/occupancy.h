#pragma once

// Occupancy: how many warps fit on a multiprocessor with a given number of live registers. One model for all phases.

#include "phases/phase.h"

#include <vector>

namespace orias::phases {

/// The occupancy classes of a function: ranges of register counts with which the same number of warps fits on a
/// multiprocessor. They follow from the allocation unit and the limits of the target, the block size of the launch
/// bounds, and static shared memory. Registers up to the end of a class are free.
///
/// Without a block size, the mean over common sizes counts, and a class extends while at most a tenth of the warps is
/// lost. Register counts here are counts of live registers: those that the target reserves are added inside.
class OccupancyClasses {
 public:
  /// `maxRegisters` is the register limit of the function, including reserved registers; `taken` is the number of
  /// further registers that hold no values.
  OccupancyClasses(const isa::Target& target, const ori::LaunchBounds& bounds, std::uint32_t sharedBytes,
                   unsigned maxRegisters, unsigned taken = 0);
  /// Before allocation the stack pointer's register counts as taken if there is a frame.
  OccupancyClasses(const ori::Function& function, const PhaseContext& context);

  /// The number of warps on a multiprocessor. Zero if no block fits.
  double warps(unsigned live) const;
  /// The highest count of live registers in the class of `live`; at most the register limit of the function.
  unsigned end(unsigned live) const;
  /// The highest counts of all classes up to the register limit, ascending.
  const std::vector<unsigned>& ends() const { return ends_; }
  /// Warps of one block; the mean of the common sizes without a block size.
  double warpsPerBlock() const { return warpsPerBlock_; }

 private:
  std::vector<double> computeWarps() const;
  unsigned unitOf(unsigned live) const;

  const isa::Target& target_;
  unsigned reserved_;                ///< registers that hold no values
  std::vector<unsigned> blockSizes_; ///< threads
  std::uint32_t sharedBytes_;
  unsigned ceiling_; ///< live registers
  double warpsPerBlock_ = 0;
  std::vector<double> warps_;  ///< by number of allocation units
  std::vector<unsigned> ends_; ///< ascending
};

/// How many registers may be live before fewer warps fit on a multiprocessor than with `live` of them, plus the knob
/// RegTargetAdjust.
unsigned registersUpToCliff(const ori::Function& function, unsigned live, const PhaseContext& context);

/// How many registers of a file the instructions use: an upper bound on the live ones, computed without liveness.
unsigned namedRegisters(const ori::Function& function, isa::File file);

} // namespace orias::phases

#pragma once

// Occupancy: how many warps fit on a multiprocessor with so many live registers. One model for all phases.

#include "phases/phase.h"

#include <vector>

namespace orias::phases {

/// The occupancy classes of a function: ranges of register counts with which equally many warps fit on a
/// multiprocessor. They follow from the allocation unit and the limits of the target, the block size of the launch
/// bounds, and static shared memory. Registers up to the end of a class are free.
///
/// Without a block size, the mean over common sizes counts, and a class extends while at most a tenth of the warps is
/// lost. Counts of registers here are live ones: those that the target reserves are added inside.
class OccupancyClasses {
 public:
  /// `maxRegisters` is the register limit of the function, reserved registers included; `taken` are registers that no
  /// value gets besides.
  OccupancyClasses(const isa::Target& target, const ori::LaunchBounds& bounds, std::uint32_t sharedBytes,
                   unsigned maxRegisters, unsigned taken = 0);
  /// Before allocation the stack pointer's register counts as taken where there is a frame.
  OccupancyClasses(const ori::Function& function, const PhaseContext& context);

  /// Warps on a multiprocessor. Zero if no block fits.
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
  unsigned reserved_;                ///< registers that no value gets
  std::vector<unsigned> blockSizes_; ///< threads
  std::uint32_t sharedBytes_;
  unsigned ceiling_; ///< live registers
  double warpsPerBlock_ = 0;
  std::vector<double> warps_;  ///< by allocation units
  std::vector<unsigned> ends_; ///< ascending
};

/// How many registers may be live before fewer warps fit on a multiprocessor than with `live` of them; plus the knob
/// RegTargetAdjust.
unsigned registersUpToCliff(const ori::Function& function, unsigned live, const PhaseContext& context);

/// How many registers of a file instructions name: no more are ever live at once. Found without liveness.
unsigned namedRegisters(const ori::Function& function, isa::File file);

} // namespace orias::phases

#pragma once

#include "ori/analysis/loops.h"

#include <vector>

namespace orias::ori {

/// How often each block runs for one execution of the function, estimated from the control flow alone: loops have eight
/// iterations, the successors of a branch are equally likely, cold blocks never run, and each exit of a loop is taken
/// equally often. A loop of one block that fills a local array, such as the argument reduction of sine and cosine, has
/// one iteration.
class BlockFrequencies {
 public:
  explicit BlockFrequencies(ori::Function& function);

  double operator[](ori::BlockId id) const { return frequency_[id]; }

 private:
  std::vector<double> frequency_; ///< by block id; 0 for unreachable blocks
};

/// The frequency of a cold block outside of loops in Block::frequency.
inline constexpr double kColdFrequency = 1.0 / 64;

/// Writes Block::frequency: as above, but at least `kColdFrequency`, and that times eight for each loop around a cold
/// block.
void setBlockFrequencies(Function& function);

} // namespace orias::ori

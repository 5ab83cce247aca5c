#pragma once

#include "ori/analysis/cfg.h"

#include <vector>

namespace orias::phases {

/// Whether the instruction waits for or arrives at a barrier of the CTA, or may do so.
bool isBlockBarrier(const ori::Instr& instr);

/// Computes which code is CTA-uniform: reached by all threads of a CTA the same number of times, in the same
/// order, except exited threads. Unlike warp divergence, a branch must take the same edge in every warp. It does
/// if it depends only on parameters, constants and the index of the CTA in the grid. For SSA form.
class BlockUniformity {
 public:
  explicit BlockUniformity(const ori::Cfg& cfg);

  /// Whether the block is uniform for all threads that wait at barriers.
  bool isCommon(ori::BlockId id) const { return !gaveUp_ && !isApart_[id]; }

 private:
  bool spreadValues();
  bool spreadBranches();
  void partFrom(ori::BlockId branch, ori::BlockId meet);
  bool hasBarrier(ori::BlockId id) const;
  std::vector<ori::BlockId> reachable(ori::BlockId from, ori::BlockId stop);

  const ori::Cfg& cfg_;
  std::vector<bool> varies_;    // by virtual register
  std::vector<bool> hasParted_; // by block: its branch has been processed
  std::vector<bool> isApart_;   // by block
  std::size_t steps_ = 0;
  bool gaveUp_ = false;
};

} // namespace orias::phases

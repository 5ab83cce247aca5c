#pragma once

#include "ori/analysis/cfg.h"

#include <vector>

namespace orias::phases {

/// Waits at a barrier of the block, comes to one, or may.
bool isBlockBarrier(const ori::Instr& instr);

/// Which code all threads of a block (CTA) come to alike: the same number of times, in the same order, but for those
/// that have left for good. Not the divergence of a warp: here a branch must go the same way in every warp. It does so
/// when it depends on nothing but parameters, constants and the place of the block in the grid. For SSA form.
class BlockUniformity {
 public:
  explicit BlockUniformity(const ori::Cfg& cfg);

  /// All threads that wait at barriers at all come to the block alike.
  bool isCommon(ori::BlockId id) const { return !gaveUp_ && !isApart_[id]; }

 private:
  bool spreadValues();
  bool spreadBranches();
  void partFrom(ori::BlockId branch, ori::BlockId meet);
  bool hasBarrier(ori::BlockId id) const;
  std::vector<ori::BlockId> reachable(ori::BlockId from, ori::BlockId stop);

  const ori::Cfg& cfg_;
  std::vector<bool> varies_;    // by virtual register
  std::vector<bool> hasParted_; // by block: its branch has been looked at
  std::vector<bool> isApart_;   // by block
  std::size_t steps_ = 0;
  bool gaveUp_ = false;
};

} // namespace orias::phases

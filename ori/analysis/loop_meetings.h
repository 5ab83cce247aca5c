#pragma once

#include "ori/analysis/loops.h"

#include <map>
#include <utility>
#include <vector>

namespace orias::ori {

/// Reconvergence points of the lanes that stay in a loop: the post-dominators of its blocks, ignoring
/// exit edges and treating back edges as the end. Ordinary post-dominators would put every
/// reconvergence point after the loop because of early exits. A loop is analyzed at the first query.
class LoopMeetings {
 public:
  LoopMeetings(const Cfg& cfg, const Loops& loops) : cfg_(cfg), loops_(loops), number_(cfg.idCount()) {}

  /// The first block after `block`, in a loop around it, that all lanes of the next iteration pass; kNoId
  /// if there is none except the header.
  BlockId next(LoopId loop, BlockId block);

 private:
  using Tree = std::vector<std::pair<BlockId, BlockId>>; // block, its immediate post-dominator; sorted
  Tree compute(LoopId loop);

  const Cfg& cfg_;
  const Loops& loops_;
  std::vector<std::uint32_t> number_; // scratch of compute
  std::map<LoopId, Tree> trees_;
};

} // namespace orias::ori

#pragma once

#include "ori/analysis/loops.h"

#include <map>
#include <utility>
#include <vector>

namespace orias::ori {

/// Blocks with their immediate post-dominators, sorted by block.
using ReconvergenceTree = std::vector<std::pair<BlockId, BlockId>>;

/// Reconvergence points of the lanes that stay in a loop: the post-dominators of its blocks, ignoring
/// exit edges and treating back edges as the end. Ordinary post-dominators would put every
/// reconvergence point after the loop because of early exits. A loop is analyzed at the first query.
class LoopReconvergence {
 public:
  LoopReconvergence(const Cfg& cfg, const Loops& loops) : cfg_(cfg), loops_(loops), number_(cfg.idCount()) {}

  /// The first block after `block`, in a loop around it, that all lanes of the next iteration pass; kNoId
  /// if there is none except the header.
  BlockId next(LoopId loop, BlockId block);

 private:
  ReconvergenceTree compute(LoopId loop);

  const Cfg& cfg_;
  const Loops& loops_;
  std::vector<std::uint32_t> number_; // scratch of compute
  std::map<LoopId, ReconvergenceTree> trees_;
};

/// Reconvergence points of the lanes that reach the main exit, which most blocks lead to: the post-dominators, ignoring
/// traps and blocks from which no path leads there. This way failed assertions and bounds checks do not prevent the
/// other lanes from reconverging. Empty where there is one exit and no trap, or where there are many exits.
class ExitReconvergence {
 public:
  explicit ExitReconvergence(const Cfg& cfg);
  /// The first block after `block` that all lanes on their way to the main exit pass; kNoId if there is none.
  BlockId next(BlockId block) const;
  /// How many successors lead to the main exit.
  unsigned ways(BlockId block) const;

 private:
  const Cfg& cfg_;
  std::vector<std::uint32_t> leads_; // by block: 0 where no path leads to the main exit
  ReconvergenceTree tree_;
};

} // namespace orias::ori

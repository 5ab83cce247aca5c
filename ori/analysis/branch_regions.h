#pragma once

#include "ori/analysis/cfg.h"
#include "ori/analysis/dominators.h"

#include <optional>
#include <vector>

namespace orias::ori {

/// Regions of divergent branches outside cycles, one branch at a time. The region of a branch is what can be
/// reached from it without passing its immediate post-dominator. The joins are the blocks of the region where paths
/// from different edges of the branch join: the iterated dominance frontier of its successors.
///
/// Regions nest or overlap. The blocks after each block are visited only once: a block stores the post-dominator up to
/// which they have been visited, and a later branch continues there. The time is about linear in the size of the CFG
/// and of the dominance frontiers, for any number of branches.
class BranchRegions {
 public:
  BranchRegions(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators);

  /// Whether the branch may be on a cycle. It then has no region.
  bool mayBeOnCycle(BlockId id) const { return mayBeOnCycle_[id]; }

  /// Blocks that earlier branches did not find.
  struct Found {
    std::vector<BlockId> region, joins;
  };
  /// Finds the region and the joins of one more branch. The result holds until the next call.
  const Found& add(BlockId branch);

 private:
  /// The post-dominator up to which the blocks after a block have been visited.
  using Horizon = std::vector<BlockId>;

  bool isAfter(BlockId horizon, BlockId meet) const;
  void findRegion(BlockId branch, BlockId meet);
  void findJoins(BlockId branch, BlockId meet);
  template <typename Enter> void visit(BlockId id, BlockId meet, Horizon& horizons, Enter&& enter);

  const Cfg& cfg_;
  const DomTree& dominators_;
  const DomTree& postDominators_;
  std::optional<DominanceFrontier> frontier_;
  std::vector<bool> mayBeOnCycle_;
  Horizon regionUntil_, joinsUntil_; // by block; kNoId: not found yet
  std::vector<BlockId> work_;
  Found found_;
};

} // namespace orias::ori

#pragma once

#include "ori/analysis/cfg.h"
#include "ori/analysis/dominators.h"

#include <optional>
#include <vector>

namespace orias::ori {

/// Regions of divergent branches that are on no cycle, branch after branch. The region of a branch is what can be
/// reached from it without passing its immediate post-dominator. The joins are the blocks of the region where lanes
/// meet that took different edges of the branch: the iterated dominance frontier of its successors.
///
/// Regions are nested or overlap, and each block tells only once what is found behind it: it keeps the post-dominator
/// up to which everything has been found, and a later branch goes on from there. So the time is about linear in the
/// control flow, and in the dominance frontiers, however many branches there are.
class BranchRegions {
 public:
  BranchRegions(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators);

  /// Whether the branch may be on a cycle. No region can be asked for it then.
  bool mayBeOnCycle(BlockId id) const { return mayBeOnCycle_[id]; }

  /// What earlier branches did not find already.
  struct Found {
    std::vector<BlockId> region, joins;
  };
  /// Finds the region and the joins of one more branch. The result holds until the next call.
  const Found& add(BlockId branch);

 private:
  /// How far the blocks behind a block have been looked at, up to a post-dominator.
  using Horizon = std::vector<BlockId>;

  bool isBehind(BlockId horizon, BlockId meet) const;
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

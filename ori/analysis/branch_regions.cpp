#include "ori/analysis/branch_regions.h"

namespace orias::ori {

BranchRegions::BranchRegions(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators)
    : cfg_(cfg), dominators_(dominators), postDominators_(postDominators), mayBeOnCycle_(cfg.idCount(), false),
      regionUntil_(cfg.idCount(), kNoId), joinsUntil_(cfg.idCount(), kNoId) {
  // The retreating edges of a cycle to its first block in reverse post order span all of its blocks.
  const auto order = cfg.reversePostOrder();
  std::vector<std::int32_t> change(order.size() + 1, 0);
  for (const BlockId from : order)
    for (const BlockId to : cfg.successors(from))
      if (cfg.isRetreating(from, to)) {
        ++change[cfg.rpoIndex(to)];
        --change[cfg.rpoIndex(from) + 1];
      }
  std::int32_t spans = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    spans += change[i];
    mayBeOnCycle_[order[i]] = spans > 0;
  }
}

const BranchRegions::Found& BranchRegions::add(BlockId branch) {
  found_.region.clear();
  found_.joins.clear();
  const BlockId meet = postDominators_.idom(branch);
  findRegion(branch, meet);
  findJoins(branch, meet);
  return found_;
}

bool BranchRegions::isAfter(BlockId horizon, BlockId meet) const {
  return horizon == meet || postDominators_.dominates(horizon, meet);
}

/// Calls `enter` for a block seen for the first time. The blocks after any other block are known up to its horizon, one
/// of its post-dominators. The walk continues there if the horizon is before `meet`.
template <typename Enter> void BranchRegions::visit(BlockId id, BlockId meet, Horizon& horizons, Enter&& enter) {
  while (id != meet) {
    const BlockId known = horizons[id];
    if (known == kNoId) {
      horizons[id] = meet;
      return enter(id);
    }
    if (isAfter(known, meet)) return;
    horizons[id] = meet;
    id = known;
  }
}

void BranchRegions::findRegion(BlockId branch, BlockId meet) {
  // The region of a nested branch is part of the outer region.
  if (const BlockId known = regionUntil_[branch]; known != kNoId) return;
  const auto enter = [&](BlockId id) {
    found_.region.push_back(id);
    work_.push_back(id);
  };
  for (const BlockId side : cfg_.successors(branch))
    visit(side, meet, regionUntil_, enter);
  while (!work_.empty()) {
    const BlockId id = work_.back();
    work_.pop_back();
    for (const BlockId next : cfg_.successors(id))
      visit(next, meet, regionUntil_, enter);
  }
}

/// The branch is on no cycle, so no block of its region dominates `meet`: such a block would post-dominate the branch.
/// Therefore the iterated frontier is in the region up to `meet`, and each horizon is in the iterated frontier of the
/// joins that store it.
void BranchRegions::findJoins(BlockId branch, BlockId meet) {
  if (!frontier_) frontier_.emplace(cfg_, dominators_);
  const auto enter = [&](BlockId id) {
    found_.joins.push_back(id);
    work_.push_back(id);
  };
  for (const BlockId side : cfg_.successors(branch)) {
    if (side == meet) continue;
    for (const BlockId join : frontier_->of(side))
      visit(join, meet, joinsUntil_, enter);
  }
  while (!work_.empty()) {
    const BlockId id = work_.back();
    work_.pop_back();
    for (const BlockId join : frontier_->of(id))
      visit(join, meet, joinsUntil_, enter);
  }
  if (meet < cfg_.idCount()) found_.joins.push_back(meet);
}

} // namespace orias::ori

#include "ori/analysis/loop_meetings.h"

#include <algorithm>

namespace orias::ori {

BlockId LoopMeetings::next(LoopId loop, BlockId block) {
  auto found = trees_.find(loop);
  if (found == trees_.end()) found = trees_.emplace(loop, compute(loop)).first;
  const Tree& tree = found->second;
  const auto at = std::lower_bound(tree.begin(), tree.end(), std::pair(block, BlockId{0}));
  return at != tree.end() && at->first == block ? at->second : kNoId;
}

/// The algorithm of Cooper, Harvey and Kennedy (A Simple, Fast Dominance Algorithm), against the edges. The next round
/// is the root.
LoopMeetings::Tree LoopMeetings::compute(LoopId loop) {
  const Loop& l = loops_.loop(loop);
  constexpr std::uint32_t kUnseen = 0, kOpen = ~0u;
  for (BlockId id : loops_.blocks(loop))
    number_[id] = kUnseen;

  // In post order of a walk against the edges; the root comes last. Every block of a natural loop is reached.
  std::vector<BlockId> order;
  std::vector<std::pair<BlockId, std::size_t>> stack;
  auto open = [&](BlockId id) {
    if (number_[id] != kUnseen) return;
    number_[id] = kOpen;
    stack.emplace_back(id, 0);
  };
  for (BlockId latch : l.latches) {
    open(latch);
    while (!stack.empty()) {
      const BlockId id = stack.back().first;
      const auto predecessors = cfg_.predecessors(id);
      if (id != l.header && stack.back().second < predecessors.size()) {
        const BlockId p = predecessors[stack.back().second++];
        if (cfg_.isReachable(p)) open(p);
        continue;
      }
      order.push_back(id);
      number_[id] = static_cast<std::uint32_t>(order.size());
      stack.pop_back();
    }
  }
  const auto root = static_cast<std::uint32_t>(order.size() + 1);

  std::vector<std::uint32_t> meet(root + 1, 0); // by number; 0: not known yet
  meet[root] = root;
  auto common = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b)
      (a < b ? a : b) = meet[a < b ? a : b];
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t n = root - 1; n > 0; --n) {
      std::uint32_t best = 0;
      for (BlockId s : cfg_.successors(order[n - 1])) {
        if (s != l.header && !loops_.contains(loop, s)) continue;
        const std::uint32_t to = s == l.header ? root : number_[s];
        if (meet[to] != 0) best = best == 0 ? to : common(best, to);
      }
      changed |= best != meet[n];
      meet[n] = best;
    }
  }

  Tree tree;
  for (std::uint32_t n = 1; n < root; ++n)
    tree.emplace_back(order[n - 1], meet[n] == root ? kNoId : order[meet[n] - 1]);
  std::sort(tree.begin(), tree.end());
  return tree;
}

} // namespace orias::ori

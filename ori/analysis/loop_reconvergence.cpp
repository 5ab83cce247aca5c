#include "ori/analysis/loop_reconvergence.h"

#include <algorithm>
#include <span>

namespace orias::ori {

namespace {

constexpr std::uint32_t kUnseen = 0, kOpen = ~0u;

/// Post-dominators by the algorithm of Cooper, Harvey and Kennedy (A Simple, Fast Dominance Algorithm), for the blocks
/// that lead to the blocks `last`, which lead to the end. `number` must be 0 for all of them. The backward walk
/// continues from blocks for which `expands(block)` is true; `forEachWay(block, f)` calls f(successor), or f(kNoId) for
/// the end.
template <typename Expands, typename ForEachWay>
ReconvergenceTree reconvergenceTree(const Cfg& cfg, std::span<const BlockId> last, std::vector<std::uint32_t>& number,
                                    Expands&& expands, ForEachWay&& forEachWay) {
  // In post order of a backward walk; the root, which is the end, comes last.
  std::vector<BlockId> order;
  std::vector<std::pair<BlockId, std::size_t>> stack;
  auto open = [&](BlockId id) {
    if (number[id] != kUnseen) return;
    number[id] = kOpen;
    stack.emplace_back(id, 0);
  };
  for (const BlockId start : last) {
    open(start);
    while (!stack.empty()) {
      const BlockId id = stack.back().first;
      const auto predecessors = cfg.predecessors(id);
      if (expands(id) && stack.back().second < predecessors.size()) {
        const BlockId p = predecessors[stack.back().second++];
        if (cfg.isReachable(p)) open(p);
        continue;
      }
      order.push_back(id);
      number[id] = static_cast<std::uint32_t>(order.size());
      stack.pop_back();
    }
  }
  const auto root = static_cast<std::uint32_t>(order.size() + 1);

  std::vector<std::uint32_t> meet(root + 1, 0); // by number; 0: not yet known
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
      forEachWay(order[n - 1], [&](BlockId s) {
        const std::uint32_t to = s == kNoId ? root : number[s];
        if (meet[to] != 0) best = best == 0 ? to : common(best, to);
      });
      changed |= best != meet[n];
      meet[n] = best;
    }
  }

  ReconvergenceTree tree;
  for (std::uint32_t n = 1; n < root; ++n)
    tree.emplace_back(order[n - 1], meet[n] == root ? kNoId : order[meet[n] - 1]);
  std::sort(tree.begin(), tree.end());
  return tree;
}

/// Whether the block ends the kernel with an error.
bool isTrap(const Block& block) {
  constexpr unsigned kTrap = 3; // the table's BPT.TRAP
  for (const Instr& instr : block)
    if (instr.op == isa::Op::BPT && isa::getMod(instr.op, instr.mods, isa::Mod::Sub) == kTrap && !instr.isGuarded())
      return true;
  return false;
}

BlockId nextIn(const ReconvergenceTree& tree, BlockId block) {
  const auto at = std::lower_bound(tree.begin(), tree.end(), std::pair(block, BlockId{0}));
  return at != tree.end() && at->first == block ? at->second : kNoId;
}

} // namespace

BlockId LoopReconvergence::next(LoopId loop, BlockId block) {
  auto found = trees_.find(loop);
  if (found == trees_.end()) found = trees_.emplace(loop, compute(loop)).first;
  return nextIn(found->second, block);
}

/// The next iteration counts as the end. Every block of a natural loop is reached.
ReconvergenceTree LoopReconvergence::compute(LoopId loop) {
  const Loop& l = loops_.loop(loop);
  for (BlockId id : loops_.blocks(loop))
    number_[id] = kUnseen;
  return reconvergenceTree(
      cfg_, l.latches, number_, [&](BlockId id) { return id != l.header; },
      [&](BlockId id, auto&& f) {
        for (BlockId s : cfg_.successors(id))
          if (s == l.header || loops_.contains(loop, s)) f(s == l.header ? kNoId : s);
      });
}

ExitReconvergence::ExitReconvergence(const Cfg& cfg) : cfg_(cfg), leads_(cfg.idCount(), kUnseen) {
  constexpr std::size_t kMaxExits = 32;
  std::vector<BlockId> exits;
  std::vector<bool> traps(cfg.idCount(), false);
  const bool mayTrap = cfg.function().everHad(isa::Op::BPT);
  bool hasTraps = false;
  for (BlockId id : cfg.reversePostOrder()) {
    traps[id] = mayTrap && isTrap(*cfg.function().block(id));
    hasTraps |= traps[id];
    if (cfg.successors(id).empty() && !traps[id]) exits.push_back(id);
  }
  if (exits.size() + (hasTraps ? 1 : 0) < 2 || exits.empty() || exits.size() > kMaxExits) return;
  std::size_t most = 0;
  BlockId main = kNoId;
  for (const BlockId exit : exits) {
    std::vector<bool> isSeen(cfg.idCount(), false);
    std::vector<BlockId> found = {exit};
    isSeen[exit] = true;
    for (std::size_t i = 0; i < found.size(); ++i)
      for (BlockId p : cfg.predecessors(found[i])) {
        if (isSeen[p] || traps[p] || !cfg.isReachable(p)) continue;
        isSeen[p] = true;
        found.push_back(p);
      }
    if (found.size() <= most) continue;
    most = found.size();
    main = exit;
  }
  tree_ = reconvergenceTree(
      cfg_, std::span(&main, 1), leads_, [&](BlockId id) { return !traps[id]; },
      [&](BlockId id, auto&& f) {
        if (id == main) f(kNoId);
        for (BlockId s : cfg_.successors(id))
          if (leads_[s] != kUnseen && !traps[s]) f(s);
      });
  for (BlockId id : cfg.reversePostOrder())
    if (traps[id]) leads_[id] = kUnseen;
}

BlockId ExitReconvergence::next(BlockId block) const {
  return nextIn(tree_, block);
}

unsigned ExitReconvergence::ways(BlockId block) const {
  const auto successors = cfg_.successors(block);
  return static_cast<unsigned>(
      std::count_if(successors.begin(), successors.end(), [&](BlockId s) { return leads_[s] != kUnseen; }));
}

} // namespace orias::ori

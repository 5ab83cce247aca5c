#pragma once

#include "ori/analysis/cfg.h"

#include <span>
#include <vector>

namespace orias::ori {

/// The dominator tree (or post-dominator tree) of the reachable blocks. A snapshot, like the Cfg it is made from.
///
/// The root of the post-dominator tree is a virtual exit, the successor of all blocks that leave the function. One
/// block of each endless loop counts as leaving, too (the last in reverse post order), so that every block has a
/// post-dominator.
class DomTree {
 public:
  static DomTree dominators(const Cfg& cfg);
  static DomTree postDominators(const Cfg& cfg);

  /// The root is the entry, or the virtual exit, whose id is idCount() of the Cfg.
  BlockId root() const { return root_; }
  bool isPostDominators() const { return isPost_; }
  /// The immediate (post-)dominator; kNoId for the root and for blocks that cannot be reached.
  BlockId idom(BlockId id) const { return idom_[id]; }
  bool isInTree(BlockId id) const { return id < enter_.size() && enter_[id] != kNoId; }
  /// Distance from the root.
  std::uint32_t level(BlockId id) const { return level_[id]; }
  std::span<const BlockId> children(BlockId id) const {
    return {children_.data() + childStart_[id], children_.data() + childStart_[id + 1]};
  }
  /// All nodes of the tree, parents before children, siblings by reverse post order.
  std::span<const BlockId> preorder() const { return preorder_; }
  /// The position of a node in preorder().
  std::uint32_t preorderIndex(BlockId id) const { return enter_[id]; }

  /// Whether `a` (post-)dominates `b`; each block dominates itself. Constant time. False when either cannot be reached.
  bool dominates(BlockId a, BlockId b) const {
    return isInTree(a) && isInTree(b) && enter_[a] <= enter_[b] && leave_[b] <= leave_[a];
  }
  bool strictlyDominates(BlockId a, BlockId b) const { return a != b && dominates(a, b); }
  /// The closest block that dominates both.
  BlockId commonDominator(BlockId a, BlockId b) const;

  friend bool operator==(const DomTree&, const DomTree&) = default;

 private:
  void buildTree(std::span<const BlockId> order);

  BlockId root_ = kNoId;
  bool isPost_ = false;
  std::vector<BlockId> idom_;
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> childStart_;
  std::vector<BlockId> children_;
  std::vector<BlockId> preorder_;
  std::vector<std::uint32_t> enter_, leave_;
};

/// The dominance frontier of every block: where its dominance ends (Cooper, Harvey, Kennedy: A Simple, Fast Dominance
/// Algorithm, figure 5). Its size can be quadratic for deeply nested loops; to place phis use IteratedFrontier.
class DominanceFrontier {
 public:
  DominanceFrontier(const Cfg& cfg, const DomTree& tree);
  /// In ascending order of ids.
  std::span<const BlockId> of(BlockId id) const { return frontier_[id]; }

 private:
  std::vector<std::vector<BlockId>> frontier_;
};

/// Finds the iterated dominance frontier of a set of blocks in time linear in the visited part of the graph
/// (Sreedhar and Gao: A Linear Time Algorithm for Placing phi-Nodes). Can be queried many times; keeps its scratch
/// memory.
class IteratedFrontier {
 public:
  IteratedFrontier(const Cfg& cfg, const DomTree& dominators);
  /// The blocks that need a phi for something defined in `defs`, when it is live into them (`isLiveIn(BlockId)`), in
  /// the order of their ids.
  ///
  /// Below a definition only blocks where it is live are visited. If it is live again further down, there is a deeper
  /// definition or phi in between, which has been visited before.
  template <typename LiveIn> std::vector<BlockId> compute(std::span<const BlockId> defs, LiveIn&& isLiveIn) {
    std::vector<BlockId> result;
    start(defs);
    for (BlockId root = takeDeepest(); root != kNoId; root = takeDeepest()) {
      walkedIn_[root] = round_;
      walk_.assign(1, root);
      while (!walk_.empty()) {
        const BlockId at = walk_.back();
        walk_.pop_back();
        for (BlockId to : cfg_.successors(at)) {
          if (tree_.idom(to) == at || tree_.level(to) > level_ || offeredIn_[to] == round_) continue;
          offeredIn_[to] = round_;
          if (!isLiveIn(to)) continue;
          result.push_back(to);
          enqueue(to);
        }
        for (BlockId child : tree_.children(at)) {
          if (walkedIn_[child] == round_ || !isLiveIn(child)) continue;
          walkedIn_[child] = round_;
          walk_.push_back(child);
        }
      }
    }
    finish(result);
    return result;
  }

 private:
  void start(std::span<const BlockId> defs);
  BlockId takeDeepest();
  void enqueue(BlockId id);
  static void finish(std::vector<BlockId>& result);

  const Cfg& cfg_;
  const DomTree& tree_;
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> queuedIn_, walkedIn_, offeredIn_; // the query in which that happened to a block
  std::vector<std::vector<BlockId>> byLevel_;
  std::uint32_t level_ = 0;
  std::size_t queued_ = 0; // blocks in byLevel_
  std::vector<BlockId> walk_;
};

} // namespace orias::ori

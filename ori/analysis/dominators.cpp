#include "ori/analysis/dominators.h"

#include "support/check.h"

#include <algorithm>
#include <numeric>

namespace orias::ori {

namespace {

/// The graph whose dominators are computed: the CFG, or the reversed CFG with a virtual exit.
struct FlowGraph {
  const Cfg* cfg = nullptr;
  std::uint32_t root = 0;
  bool reversed = false;
  std::vector<std::uint32_t> leaving; ///< reversed: the successors of the root
  std::vector<bool> isLeaving;

  std::size_t size() const { return cfg->idCount() + (reversed ? 1u : 0u); }
  std::span<const std::uint32_t> successors(std::uint32_t node) const {
    if (!reversed) return cfg->successors(node);
    return node == root ? std::span<const std::uint32_t>(leaving) : cfg->predecessors(node);
  }
  template <typename F> void forEachPredecessor(std::uint32_t node, F&& f) const {
    if (!reversed) {
      for (std::uint32_t from : cfg->predecessors(node))
        f(from);
      return;
    }
    for (std::uint32_t from : cfg->successors(node))
      f(from);
    if (isLeaving[node]) f(root);
  }
};

/// Semi-NCA (Georgiadis, Tarjan: Finding Dominators Revisited): semidominators by path compression, then each immediate
/// dominator as the nearest common ancestor. Boost.Graph's lengauer_tarjan_dominator_tree compresses paths by
/// recursion, as deep as the longest chain of blocks in a loop, so it cannot be used for unbounded input. The unit
/// tests compare the two.
class SemiNca {
 public:
  explicit SemiNca(const FlowGraph& graph) : graph_(graph), number_(graph.size(), kNoId) {
    depthFirst();
    solve();
  }

  /// Immediate dominators by node; kNoId for the root and unreachable nodes.
  std::vector<BlockId> result() const {
    std::vector<BlockId> idom(graph_.size(), kNoId);
    for (std::uint32_t i = 1; i < node_.size(); ++i)
      idom[node_[i]] = node_[idom_[i]];
    return idom;
  }

 private:
  void depthFirst() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> stack; // number, next successor
    auto enter = [&](std::uint32_t node, std::uint32_t parent) {
      number_[node] = static_cast<std::uint32_t>(node_.size());
      stack.emplace_back(number_[node], 0);
      node_.push_back(node);
      parent_.push_back(parent);
    };
    enter(graph_.root, 0);
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      const auto successors = graph_.successors(node_[at]);
      if (next == successors.size()) {
        stack.pop_back();
        continue;
      }
      const std::uint32_t to = successors[next++];
      if (number_[to] == kNoId) enter(to, at);
    }
  }

  /// The node with the lowest semidominator on the compressed path above `v`, of the nodes already linked (numbers >=
  /// `linked`).
  std::uint32_t evaluate(std::uint32_t v, std::uint32_t linked) {
    if (ancestor_[v] < linked) return label_[v];
    path_.clear();
    std::uint32_t at = v;
    while (ancestor_[at] >= linked) {
      path_.push_back(at);
      at = ancestor_[at];
    }
    // `at` is the topmost linked node; compress from the top down.
    for (auto below = path_.rbegin(); below != path_.rend(); ++below) {
      const std::uint32_t above = ancestor_[*below];
      if (semi_[label_[above]] < semi_[label_[*below]]) label_[*below] = label_[above];
      ancestor_[*below] = ancestor_[at];
    }
    return label_[v];
  }

  void solve() {
    const auto count = static_cast<std::uint32_t>(node_.size());
    semi_.resize(count);
    std::iota(semi_.begin(), semi_.end(), 0u);
    label_ = semi_;
    ancestor_ = parent_;
    idom_ = parent_;
    for (std::uint32_t i = count; i-- > 1;) {
      std::uint32_t best = parent_[i];
      graph_.forEachPredecessor(node_[i], [&](std::uint32_t from) {
        const std::uint32_t v = number_[from];
        if (v != kNoId) best = std::min(best, semi_[evaluate(v, i + 1)]);
      });
      semi_[i] = best;
    }
    for (std::uint32_t i = 1; i < count; ++i)
      while (idom_[i] > semi_[i])
        idom_[i] = idom_[idom_[i]];
  }

  const FlowGraph& graph_;
  std::vector<std::uint32_t> number_; // by node
  // By depth-first number:
  std::vector<std::uint32_t> node_, parent_, semi_, label_, ancestor_, idom_;
  std::vector<std::uint32_t> path_;
};

/// The predecessors of the virtual exit: the blocks without successors, and one of each part of the graph that never
/// leaves.
std::vector<std::uint32_t> leavingBlocks(const Cfg& cfg) {
  std::vector<std::uint32_t> result, stack;
  std::vector<bool> leaves(cfg.idCount());
  auto add = [&](BlockId id) {
    result.push_back(id);
    leaves[id] = true;
    stack.push_back(id);
    while (!stack.empty()) {
      const BlockId at = stack.back();
      stack.pop_back();
      for (BlockId from : cfg.predecessors(at))
        if (!leaves[from] && cfg.isReachable(from)) {
          leaves[from] = true;
          stack.push_back(from);
        }
    }
  };
  const auto order = cfg.reversePostOrder();
  for (BlockId id : order)
    if (cfg.successors(id).empty()) add(id);
  for (auto id = order.rbegin(); id != order.rend(); ++id)
    if (!leaves[*id]) add(*id);
  return result;
}

} // namespace

DomTree DomTree::dominators(const Cfg& cfg) {
  FlowGraph graph;
  graph.cfg = &cfg;
  graph.root = cfg.entry();
  DomTree tree;
  tree.root_ = graph.root;
  tree.idom_ = SemiNca(graph).result();
  tree.buildTree(cfg.reversePostOrder());
  return tree;
}

DomTree DomTree::postDominators(const Cfg& cfg) {
  FlowGraph graph;
  graph.cfg = &cfg;
  graph.reversed = true;
  graph.root = cfg.idCount();
  graph.leaving = leavingBlocks(cfg);
  graph.isLeaving.assign(cfg.idCount(), false);
  for (std::uint32_t id : graph.leaving)
    graph.isLeaving[id] = true;
  DomTree tree;
  tree.isPost_ = true;
  tree.root_ = graph.root;
  tree.idom_ = SemiNca(graph).result();
  // The walk against the edges also finds blocks that are unreachable from the entry; they are not part of the tree.
  for (BlockId id = 0; id < cfg.idCount(); ++id)
    if (!cfg.isReachable(id)) tree.idom_[id] = kNoId;
  tree.buildTree(cfg.reversePostOrder());
  return tree;
}

void DomTree::buildTree(std::span<const BlockId> order) {
  const std::size_t count = idom_.size();
  childStart_.assign(count + 1, 0);
  for (BlockId id : order)
    if (idom_[id] != kNoId) ++childStart_[idom_[id] + 1];
  for (std::size_t i = 0; i < count; ++i)
    childStart_[i + 1] += childStart_[i];
  children_.resize(childStart_[count]);
  std::vector<std::uint32_t> next(childStart_.begin(), childStart_.end() - 1);
  for (BlockId id : order)
    if (idom_[id] != kNoId) children_[next[idom_[id]]++] = id;

  enter_.assign(count, kNoId);
  leave_.assign(count, 0);
  level_.assign(count, 0);
  std::vector<std::pair<BlockId, std::uint32_t>> stack; // node, next child
  auto enter = [&](BlockId id) {
    enter_[id] = static_cast<std::uint32_t>(preorder_.size());
    preorder_.push_back(id);
    stack.emplace_back(id, 0);
  };
  enter(root_);
  while (!stack.empty()) {
    auto& [id, child] = stack.back();
    const auto below = children(id);
    if (child == below.size()) {
      leave_[id] = static_cast<std::uint32_t>(preorder_.size());
      stack.pop_back();
      continue;
    }
    const BlockId to = below[child++];
    level_[to] = level_[id] + 1;
    enter(to);
  }
}

BlockId DomTree::commonDominator(BlockId a, BlockId b) const {
  ORIAS_CHECK(isInTree(a) && isInTree(b));
  if (level_[a] > level_[b]) std::swap(a, b);
  while (!dominates(a, b))
    a = idom_[a];
  return a;
}

DominanceFrontier::DominanceFrontier(const Cfg& cfg, const DomTree& tree) : frontier_(cfg.idCount()) {
  for (BlockId id = 0; id < cfg.idCount(); ++id) {
    if (!cfg.isReachable(id)) continue;
    const auto before = tree.isPostDominators() ? cfg.successors(id) : cfg.predecessors(id);
    for (BlockId runner : before) {
      if (!cfg.isReachable(runner)) continue;
      while (runner != kNoId && runner != tree.idom(id)) {
        auto& frontier = frontier_[runner];
        if (!frontier.empty() && frontier.back() == id) break; // the remaining ancestors have it already
        frontier.push_back(id);
        runner = tree.idom(runner);
      }
    }
  }
}

IteratedFrontier::IteratedFrontier(const Cfg& cfg, const DomTree& dominators)
    : cfg_(cfg), tree_(dominators), queuedIn_(cfg.idCount(), 0), walkedIn_(cfg.idCount(), 0),
      offeredIn_(cfg.idCount(), 0) {
  ORIAS_CHECK(!dominators.isPostDominators());
}

void IteratedFrontier::start(std::span<const BlockId> defs) {
  ++round_;
  level_ = 0;
  for (BlockId id : defs)
    if (tree_.isInTree(id)) {
      enqueue(id);
      level_ = std::max(level_, tree_.level(id));
    }
}

void IteratedFrontier::enqueue(BlockId id) {
  if (queuedIn_[id] == round_) return;
  queuedIn_[id] = round_;
  const std::uint32_t level = tree_.level(id);
  if (byLevel_.size() <= level) byLevel_.resize(level + 1);
  byLevel_[level].push_back(id);
  ++queued_;
}

/// The deepest queued block; kNoId if there is none. Blocks that are queued while a block is visited are not deeper.
BlockId IteratedFrontier::takeDeepest() {
  if (queued_ == 0) return kNoId;
  while (byLevel_[level_].empty())
    --level_;
  const BlockId deepest = byLevel_[level_].back();
  byLevel_[level_].pop_back();
  --queued_;
  return deepest;
}

void IteratedFrontier::finish(std::vector<BlockId>& result) {
  std::sort(result.begin(), result.end());
}

} // namespace orias::ori

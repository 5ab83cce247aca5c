#include "regalloc/branch_sides.h"

#include "ori/analysis/dominators.h"
#include "ori/function.h"

#include <algorithm>

namespace orias::regalloc {

using ori::BlockId;

namespace {

/// Steps spent on finding divergent sides. The remaining branches are then not examined.
constexpr std::size_t kMaxRegionSteps = 4'000'000;

} // namespace

std::vector<BranchSide> branchSides(const ori::Function& function, const ori::Cfg& cfg) {
  std::vector<BranchSide> sides;
  const ori::DomTree postDominators = ori::DomTree::postDominators(cfg);
  std::vector<std::uint32_t> mark(function.blockIdCount(), 0);
  std::uint32_t stamp = 0;
  std::size_t steps = 0;
  for (BlockId branch : cfg.reversePostOrder()) {
    auto successors = cfg.successors(branch);
    if (successors.size() < 2 || steps > kMaxRegionSteps) continue;
    const BlockId meet = postDominators.idom(branch);
    if (std::count_if(successors.begin(), successors.end(), [&](BlockId s) { return s != meet; }) < 2) continue;
    const std::size_t first = sides.size();
    for (BlockId successor : successors) {
      if (successor == meet) continue;
      BranchSide side{branch, {successor}, {}, {}};
      mark[successor] = ++stamp;
      for (std::size_t i = 0; i < side.blocks.size(); ++i) {
        auto next = cfg.successors(side.blocks[i]);
        bool leaves = next.empty();
        for (BlockId s : next) {
          leaves |= s == meet;
          if (s == meet || mark[s] == stamp) continue;
          mark[s] = stamp;
          side.blocks.push_back(s);
        }
        if (leaves) side.ends.push_back(side.blocks[i]);
      }
      steps += side.blocks.size();
      // A side without instructions does not change the registers, whenever it runs.
      if (std::ranges::all_of(side.blocks, [&](BlockId s) { return function.block(s)->empty(); })) continue;
      sides.push_back(std::move(side));
    }
    for (std::size_t i = first; i < sides.size(); ++i)
      for (std::size_t j = first; j < sides.size(); ++j)
        if (j != i) sides[i].others.push_back(sides[j].blocks.front());
  }
  return sides;
}

std::vector<std::vector<BlockId>> warpEdges(const std::vector<const BranchSide*>& sides, std::size_t blockCount) {
  std::vector<std::vector<BlockId>> edges(blockCount);
  for (const BranchSide* side : sides)
    for (BlockId end : side->ends)
      edges[end].insert(edges[end].end(), side->others.begin(), side->others.end());
  for (auto& targets : edges) {
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  }
  return edges;
}

} // namespace orias::regalloc

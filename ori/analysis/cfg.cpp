#include "ori/analysis/cfg.h"

#include "support/check.h"

#include <algorithm>
#include <utility>

namespace orias::ori {

Cfg::Cfg(const Function& function) : function_(&function) {
  ORIAS_CHECK(!function.layout().empty(), "the function has no blocks");
  entry_ = function.entry()->id;
  const std::size_t ids = function.blockIdCount();

  succStart_.assign(ids + 1, 0);
  predStart_.assign(ids + 1, 0);
  // By id, so that the edges of a block are adjacent.
  for (BlockId id = 0; id < ids; ++id) {
    succStart_[id] = static_cast<std::uint32_t>(succ_.size());
    const Block* block = function.block(id);
    if (!block) continue;
    function.forEachSuccessor(*block, [&](BlockId to) {
      ORIAS_CHECK(to < ids && function.block(to), "branch to an undefined block");
      succ_.push_back(to);
      ++predStart_[to + 1];
    });
  }
  succStart_[ids] = static_cast<std::uint32_t>(succ_.size());

  for (std::size_t id = 0; id < ids; ++id)
    predStart_[id + 1] += predStart_[id];
  pred_.resize(succ_.size());
  std::vector<std::uint32_t> next(predStart_.begin(), predStart_.end() - 1);
  for (const Block* block : function.layout())
    for (BlockId to : successors(block->id))
      pred_[next[to]++] = block->id;

  numberBlocks();
}

void Cfg::numberBlocks() {
  rpoIndex_.assign(succStart_.size() - 1, kNoId);
  std::vector<bool> seen(rpoIndex_.size());
  // An explicit stack, because the depth is that of the CFG. Successors are visited in reverse, so that the first
  // successor of a branch comes first in the reversed order.
  std::vector<std::pair<BlockId, std::uint32_t>> stack;
  auto enter = [&](BlockId id) {
    seen[id] = true;
    stack.emplace_back(id, static_cast<std::uint32_t>(successors(id).size()));
  };
  enter(entry_);
  while (!stack.empty()) {
    auto& [id, left] = stack.back();
    if (left == 0) {
      rpo_.push_back(id);
      stack.pop_back();
      continue;
    }
    const BlockId to = successors(id)[--left];
    if (!seen[to]) enter(to);
  }
  std::reverse(rpo_.begin(), rpo_.end());
  for (std::uint32_t i = 0; i < rpo_.size(); ++i)
    rpoIndex_[rpo_[i]] = i;
}

} // namespace orias::ori

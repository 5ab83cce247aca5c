#include "ori/analysis/loops.h"

#include <algorithm>

namespace orias::ori {

Loops::Loops(const Cfg& cfg, const DomTree& dominators) : cfg_(cfg), innermost_(cfg.idCount(), kNoId) {
  find(dominators);
  arrange();
}

void Loops::find(const DomTree& dominators) {
  const Cfg& cfg = cfg_;
  const auto order = cfg.reversePostOrder();
  // Inner headers come later in reverse post order than the headers around them, so going backwards finds inner loops
  // first, and the walk of an outer loop can jump over each of them as a whole: every block is walked once per nesting
  // level at most.
  std::vector<LoopId> outermost; // by loop: the loop it was last found in
  std::vector<BlockId> walk;
  std::vector<Loop> found;
  auto outermostOf = [&](LoopId loop) {
    while (found[loop].parent != kNoId) {
      LoopId& up = outermost[loop];
      if (found[up].parent != kNoId) up = outermost[up]; // halve the path
      loop = up;
    }
    return loop;
  };
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const BlockId header = *at;
    Loop loop;
    loop.header = header;
    for (BlockId from : cfg.predecessors(header)) {
      if (!cfg.isReachable(from) || !cfg.isRetreating(from, header)) continue;
      if (dominators.dominates(header, from))
        loop.latches.push_back(from);
      else
        irreducible_.emplace_back(from, header);
    }
    if (loop.latches.empty()) continue;
    const auto id = static_cast<LoopId>(found.size());
    walk = loop.latches;
    found.push_back(std::move(loop));
    outermost.push_back(id);
    innermost_[header] = id;
    while (!walk.empty()) {
      const BlockId block = walk.back();
      walk.pop_back();
      BlockId continueFrom = block;
      if (innermost_[block] == kNoId) {
        innermost_[block] = id;
      } else {
        const LoopId inner = outermostOf(innermost_[block]);
        if (inner == id) continue;
        found[inner].parent = id;
        outermost[inner] = id;
        continueFrom = found[inner].header;
      }
      for (BlockId from : cfg.predecessors(continueFrom))
        if (cfg.isReachable(from) && from != header) walk.push_back(from);
    }
  }
  std::reverse(irreducible_.begin(), irreducible_.end());

  // Outer loops first: in the order of their headers.
  const auto count = static_cast<LoopId>(found.size());
  loops_.reserve(count);
  for (LoopId i = count; i-- > 0;)
    loops_.push_back(std::move(found[i]));
  auto renumber = [&](LoopId id) { return id == kNoId ? kNoId : count - 1 - id; };
  for (Loop& loop : loops_) {
    loop.parent = renumber(loop.parent);
    loop.depth = loop.parent == kNoId ? 1 : loops_[loop.parent].depth + 1;
  }
  for (LoopId& id : innermost_)
    id = renumber(id);
}

/// Fills order_, in which each loop is contiguous.
void Loops::arrange() {
  // The direct members of a loop (or, last, of no loop): blocks, and inner loops at the position of their header.
  struct Item {
    BlockId block;
    LoopId loop; ///< kNoId: the block itself
  };
  std::vector<std::vector<Item>> items(loops_.size() + 1);
  auto listOf = [&](LoopId loop) -> std::vector<Item>& { return items[loop == kNoId ? loops_.size() : loop]; };
  for (BlockId id : cfg_.reversePostOrder()) {
    const LoopId loop = innermost_[id];
    if (loop != kNoId && loops_[loop].header == id) listOf(loops_[loop].parent).push_back({id, loop});
    listOf(loop).push_back({id, kNoId});
  }
  std::vector<std::pair<LoopId, std::uint32_t>> stack{{kNoId, 0}}; // loop, next item
  while (!stack.empty()) {
    auto& [loop, next] = stack.back();
    const std::vector<Item>& list = listOf(loop);
    const auto done = static_cast<std::uint32_t>(order_.size());
    if (next == list.size()) {
      if (loop != kNoId) loops_[loop].blockCount = done - loops_[loop].firstBlock;
      stack.pop_back();
      continue;
    }
    const Item& item = list[next++];
    if (item.loop == kNoId) {
      order_.push_back(item.block);
    } else {
      loops_[item.loop].firstBlock = done;
      stack.emplace_back(item.loop, 0);
    }
  }
}

bool Loops::contains(LoopId loop, BlockId block) const {
  LoopId at = innermost_[block];
  while (at != kNoId && loops_[at].depth > loops_[loop].depth)
    at = loops_[at].parent;
  return at == loop;
}

std::vector<std::pair<BlockId, BlockId>> Loops::exits(LoopId loop) const {
  std::vector<std::pair<BlockId, BlockId>> result;
  for (BlockId from : blocks(loop))
    for (BlockId to : cfg_.successors(from))
      if (!contains(loop, to)) result.emplace_back(from, to);
  return result;
}

void setLoopDepths(Function& function, const Loops& loops) {
  for (Block* block : function.layout())
    block->loopDepth = static_cast<std::uint8_t>(std::min<std::uint32_t>(loops.depth(block->id), 255));
}

} // namespace orias::ori

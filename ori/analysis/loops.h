#pragma once

#include "ori/analysis/dominators.h"

#include <utility>
#include <vector>

namespace orias::ori {

using LoopId = std::uint32_t;

/// A natural loop: all blocks that reach a back edge of `header` without passing through it.
struct Loop {
  BlockId header = kNoId;
  LoopId parent = kNoId;        ///< the enclosing loop
  std::uint32_t depth = 1;      ///< 1 for outermost loops
  std::vector<BlockId> latches; ///< sources of its back edges
  std::uint32_t firstBlock = 0; ///< index of its blocks in Loops::order(), see Loops::blocks
  std::uint32_t blockCount = 0;

  friend bool operator==(const Loop&, const Loop&) = default;
};

/// The loops of a function; a snapshot. Loops are numbered so that a parent comes before its children.
class Loops {
 public:
  Loops(const Cfg& cfg, const DomTree& dominators);

  const std::vector<Loop>& all() const { return loops_; }
  const Loop& loop(LoopId id) const { return loops_[id]; }
  /// All blocks of the loop, those of inner loops included. The header is the first; the others follow in reverse post
  /// order, except that inner loops are contiguous (at their header).
  std::span<const BlockId> blocks(LoopId id) const {
    return std::span(order_).subspan(loops_[id].firstBlock, loops_[id].blockCount);
  }
  /// All reachable blocks in that order: each loop is contiguous.
  std::span<const BlockId> order() const { return order_; }
  /// The innermost loop around a block, or kNoId.
  LoopId innermost(BlockId id) const { return innermost_[id]; }
  std::uint32_t depth(BlockId id) const { return innermost_[id] == kNoId ? 0 : loops_[innermost_[id]].depth; }
  bool isHeader(BlockId id) const { return innermost_[id] != kNoId && loops_[innermost_[id]].header == id; }
  bool contains(LoopId loop, BlockId block) const;
  /// The edges that leave the loop, as (from inside, to outside).
  std::vector<std::pair<BlockId, BlockId>> exits(LoopId loop) const;

  /// Edges that close a cycle whose target does not dominate their source: the cycle has several entries and is no
  /// natural loop.
  const std::vector<std::pair<BlockId, BlockId>>& irreducibleEdges() const { return irreducible_; }
  bool isReducible() const { return irreducible_.empty(); }

  /// Whether the loops are equal. The snapshots of the control flow may differ.
  friend bool operator==(const Loops& a, const Loops& b) {
    return a.loops_ == b.loops_ && a.order_ == b.order_ && a.innermost_ == b.innermost_ &&
           a.irreducible_ == b.irreducible_;
  }

 private:
  void find(const DomTree& dominators);
  void arrange();

  const Cfg& cfg_;
  std::vector<Loop> loops_;
  std::vector<BlockId> order_;
  std::vector<LoopId> innermost_;
  std::vector<std::pair<BlockId, BlockId>> irreducible_;
};

/// Writes Block::loopDepth of all blocks, at most 255.
void setLoopDepths(Function& function, const Loops& loops);

} // namespace orias::ori

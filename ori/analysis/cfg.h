#pragma once

#include "ori/function.h"

#include <cstdint>
#include <span>
#include <vector>

namespace orias::ori {

/// A snapshot of the control flow of a function. Nodes are block ids; ids of erased blocks have no edges and are not
/// reachable. Construction takes linear time. After a change of edges or blocks, build a new one.
class Cfg {
 public:
  explicit Cfg(const Function& function);

  const Function& function() const { return *function_; }
  /// All block ids are below this number; some may belong to erased blocks.
  std::uint32_t idCount() const { return static_cast<std::uint32_t>(rpoIndex_.size()); }
  BlockId entry() const { return entry_; }

  std::span<const BlockId> successors(BlockId id) const { return edges(succStart_, succ_, id); }
  /// In the order of the layout of the predecessors; unreachable predecessors are included.
  std::span<const BlockId> predecessors(BlockId id) const { return edges(predStart_, pred_, id); }

  /// The reachable blocks in reverse post order of a depth-first walk from the entry.
  std::span<const BlockId> reversePostOrder() const { return rpo_; }
  /// The index in reversePostOrder(), kNoId for an unreachable block.
  std::uint32_t rpoIndex(BlockId id) const { return rpoIndex_[id]; }
  bool isReachable(BlockId id) const { return rpoIndex_[id] != kNoId; }
  /// Whether the edge leads to a block that the depth-first walk had not finished, so that it closes a cycle.
  bool isRetreating(BlockId from, BlockId to) const { return rpoIndex_[to] <= rpoIndex_[from]; }
  std::size_t edgeCount() const { return succ_.size(); }

  friend bool operator==(const Cfg&, const Cfg&) = default;

 private:
  static std::span<const BlockId> edges(const std::vector<std::uint32_t>& start, const std::vector<BlockId>& all,
                                        BlockId id) {
    return {all.data() + start[id], all.data() + start[id + 1]};
  }
  void numberBlocks();

  const Function* function_;
  BlockId entry_;
  std::vector<std::uint32_t> succStart_, predStart_; // by id, one more than there are ids
  std::vector<BlockId> succ_, pred_;
  std::vector<BlockId> rpo_;
  std::vector<std::uint32_t> rpoIndex_;
};

} // namespace orias::ori

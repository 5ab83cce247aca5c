#pragma once

// Dependences between instructions of straight-line code, and the cycles needed between them. Works
// on virtual and on physical registers.

#include "encoder/isa/effects.h"
#include "ori/instr.h"

#include <span>
#include <vector>

namespace orias::phases {

struct Dependence {
  std::uint32_t to = 0;
  std::uint16_t latency = 0; ///< from issue to issue; an estimate after instructions of variable latency
};

/// A fence that orders the accesses of the threads of a block: of one CTA (MEMBAR.CTA), or between its own accesses and
/// asynchronous ones (FENCE.VIEW.ASYNC).
bool isBlockFence(const ori::Instr& instr);

/// Whether no other instruction may move past this one: branches, wider fences, and instructions unknown to the table.
/// Barriers and fences of the block let instructions pass that do not access memory: arithmetic, shuffles; barriers
/// also matrix instructions.
bool isPinned(const ori::Instr& instr);

/// The graph over a region without pinned instructions. Nodes are indices into the region; all edges go forward.
/// Registers make edges to the last definition and the uses since; memory accesses are ordered if one of them
/// writes and they may alias: same or generic space, and not the same base register with disjoint offsets.
class DependenceGraph {
 public:
  DependenceGraph(std::span<ori::Instr* const> region, const isa::Target& target);

  std::size_t size() const { return predecessors_.size(); }
  std::span<const Dependence> successors(std::uint32_t node) const {
    return {edges_.data() + starts_[node], edges_.data() + starts_[node + 1]};
  }
  unsigned predecessorCount(std::uint32_t node) const { return predecessors_[node]; }

 private:
  std::vector<std::uint32_t> starts_;
  std::vector<Dependence> edges_;
  std::vector<std::uint32_t> predecessors_;
};

} // namespace orias::phases

#pragma once

// The sides of branches, for the allocation checker: lanes on one side may run after those on another one.

#include "ori/analysis/cfg.h"

#include <cstddef>
#include <vector>

namespace orias::regalloc {

/// The blocks from one successor of a branch up to the reconvergence point of the branch.
struct BranchSide {
  ori::BlockId branch;
  std::vector<ori::BlockId> blocks; ///< the successor of the branch first
  std::vector<ori::BlockId> ends;   ///< blocks that leave the side
  std::vector<ori::BlockId> others; ///< the first blocks of the branch's other sides, which may run after this one
};

/// The sides of all branches with at least two successors other than their reconvergence point; none without
/// instructions.
std::vector<BranchSide> branchSides(const ori::Function& function, const ori::Cfg& cfg);
/// Edges from the ends of sides to the beginnings of the others, by block; `blockCount`: ori::Function::blockIdCount().
std::vector<std::vector<ori::BlockId>> warpEdges(const std::vector<const BranchSide*>& sides, std::size_t blockCount);

} // namespace orias::regalloc

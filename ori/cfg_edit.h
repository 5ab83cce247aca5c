#pragma once

#include "ori/function.h"

#include <span>
#include <utility>
#include <vector>

namespace orias::ori {

// The target of an edge is a label of the terminator or Block::fallthrough. These functions change them
// and update the phis of the affected blocks. They do not update analyses: an earlier Cfg is invalid.

/// An edge, as the ids of its blocks.
using EdgeIds = std::pair<BlockId, BlockId>;

/// The branch at the end of a block, if it has one target and no condition except its guard; else null.
Instr* plainBranch(const Block& block);

/// Redirects each edge from `from` to `to` to `newTo`. The phis of `to` lose that predecessor; the caller updates the
/// phis of `newTo`.
void redirectEdge(Function& function, Block* from, Block* to, Block* newTo);

/// Inserts an empty block on each edge, which falls through to the target and follows the source in the layout. Updates
/// the phis of the targets. Returns the new blocks in the order of the edges.
std::vector<Block*> splitEdges(Function& function, std::span<const EdgeIds> edges);
Block* splitEdge(Function& function, Block* from, Block* to);

/// The critical edges: from a block with several successors to one with several predecessors.
std::vector<EdgeIds> criticalEdges(const Function& function);

/// Splits all critical edges. Returns whether there were any.
bool splitCriticalEdges(Function& function);

/// Erases unreachable blocks and their phi sources. Returns whether there were any.
bool removeUnreachableBlocks(Function& function);

/// Merges each block with its only successor if it is the only predecessor of that; not if threads may exit at the end
/// of the block. Returns whether there were such pairs.
bool mergeBlocks(Function& function);

/// Removes the phi sources that come from `predecessor`.
void removePhiSource(Function& function, Block* block, BlockId predecessor);

/// The source of a phi for `predecessor`; null if there is none.
const isa::Operand* phiValueFrom(const Instr& phi, BlockId predecessor);

/// Makes every fall-through lead to the next block of the layout, as the machine requires. Inverts conditions and adds
/// branches (in new blocks after conditional branches). Unconditional branches to the next block become fall-throughs.
/// Where neither target is next, the conditional branch goes to the one that executes more often, by loop depth and
/// cold blocks. Returns whether it changed anything.
bool makeFallthroughsAdjacent(Function& function);

} // namespace orias::ori

#pragma once

#include "ori/function.h"

#include <span>
#include <utility>
#include <vector>

namespace orias::ori {

// Where an edge goes is said by a label of the terminator or by Block::fallthrough. These functions change them and
// keep the phis of the blocks concerned right. None of them updates analyses: a Cfg made before is out of date.

/// An edge by the ids of its blocks.
using EdgeIds = std::pair<BlockId, BlockId>;

/// The branch at the end of a block, if it goes to one label under the condition of its guard alone; else null.
Instr* plainBranch(const Block& block);

/// Makes each edge from `from` to `to` go to `newTo`. The phis of `to` lose that predecessor; those of `newTo` are the
/// caller's.
void redirectEdge(Function& function, Block* from, Block* to, Block* newTo);

/// Puts a new, empty block on each edge, which falls through to the edge's target and lies behind its source in the
/// layout. The phis of the targets name the new blocks. Returns these in the order of the edges.
std::vector<Block*> splitEdges(Function& function, std::span<const EdgeIds> edges);
Block* splitEdge(Function& function, Block* from, Block* to);

/// The edges from a block with several successors to one with several predecessors.
std::vector<EdgeIds> criticalEdges(const Function& function);

/// Splits all critical edges; true when there were any.
bool splitCriticalEdges(Function& function);

/// Erases what the entry does not reach, and the phi sources that came from there; true when there was any.
bool removeUnreachableBlocks(Function& function);

/// Where a block has one successor, whose only predecessor it is, takes over its instructions and erases it; not where
/// the block ends with more than a branch (some threads exit there). True when there were any such pairs.
bool mergeBlocks(Function& function);

/// Removes the phi sources that come from `predecessor`.
void removePhiSource(Function& function, Block* block, BlockId predecessor);

/// What a phi takes from `predecessor`; null where it has no such source.
const isa::Operand* phiValueFrom(const Instr& phi, BlockId predecessor);

/// Makes every fall-through lead to the next block of the layout, as the machine has no other: turns conditions around,
/// and adds branches (in blocks of their own behind conditional ones). Unconditional branches to the next block become
/// fall-throughs.
void makeFallthroughsAdjacent(Function& function);

} // namespace orias::ori

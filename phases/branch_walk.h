#pragma once

#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace orias::phases {

// Iteration over branches and loops while a phase changes them.

/// The conditional branch at the end of a block with two successors; null if the block ends otherwise.
inline const ori::Instr* twoWayBranch(const ori::Block& block) {
  const ori::Instr* branch = ori::plainBranch(block);
  if (!branch || !branch->isGuarded() || block.fallthrough == ori::kNoId || branch->op_(1).reg == block.fallthrough)
    return nullptr;
  const ori::Operand& guard = branch->guard();
  return guard.file == isa::File::P && guard.isVirtual() ? branch : nullptr;
}

/// `if (outer) goto target; if (inner) goto target;` in two blocks.
struct NestedBranches {
  ori::Block* outer;
  ori::Block* inner;
  ori::BlockId target, rest;         ///< the common target, and the successor if neither is taken
  isa::Operand outerGoes, innerGoes; ///< conditions of the jump to the target
};

/// The pair with `outer` as the first branch, and the second in one of its successors (0: the branch target, 1: the
/// fall-through block), which has no other predecessor.
inline std::optional<NestedBranches> nestedBranchesAt(const ori::Cfg& cfg, ori::Block* outer, unsigned side) {
  const ori::Instr* first = twoWayBranch(*outer);
  if (!first) return std::nullopt;
  const ori::BlockId ways[2] = {first->op_(1).reg, outer->fallthrough};
  ori::Block* inner = cfg.function().block(ways[side]);
  const ori::BlockId target = ways[1 - side];
  if (inner == outer || inner->id == cfg.entry() || cfg.predecessors(inner->id).size() != 1) return std::nullopt;
  const ori::Instr* second = twoWayBranch(*inner);
  if (!second) return std::nullopt;
  const bool isTaken = second->op_(1).reg == target;
  if (!isTaken && inner->fallthrough != target) return std::nullopt;
  const ori::BlockId rest = isTaken ? inner->fallthrough : second->op_(1).reg;
  if (rest == inner->id || target == inner->id) return std::nullopt;
  const isa::Operand a = first->guard().value(), b = second->guard().value();
  return NestedBranches{outer, inner, target, rest, side == 1 ? a : a.notted(), isTaken ? b : b.notted()};
}

/// Calls change(Block*) for all blocks of `cfg`, in post-order: a simplified branch may be the inner
/// part of the next one. `change` returns whether it changed something, and flags removed blocks
/// in `isGone`; these are erased at the end.
template <typename Change>
bool changeFromEnds(ori::Function& function, const ori::Cfg& cfg, std::vector<bool>& isGone, Change&& change) {
  const auto order = cfg.reversePostOrder();
  bool changed = false;
  for (std::size_t i = order.size(); i-- > 0;)
    if (!isGone[order[i]]) changed |= change(function.block(order[i]));
  if (changed) function.eraseBlocks(isGone);
  return changed;
}

/// Calls change(depth) for at most `most` levels of loops, the innermost first. `change` returns whether it changed
/// something.
template <typename Change>
bool changeFromInnermost(const ori::Function& function, std::uint32_t most, Change&& change) {
  const ori::Loops& loops = function.analyses().loops();
  std::uint32_t deepest = 0;
  for (const ori::Loop& loop : loops.all())
    deepest = std::max(deepest, loop.depth);
  bool changed = false;
  for (std::uint32_t depth = deepest; depth > 0 && deepest - depth < most; --depth)
    changed |= change(depth);
  return changed;
}

} // namespace orias::phases

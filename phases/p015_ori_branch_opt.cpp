#include "encoder/isa/desc.h"
#include "ori/cfg_edit.h"
#include "phases/exit_under_guard.h"
#include "phases/guarded_runs.h"
#include "phases/phases.h"

#include <vector>

namespace orias::phases {

using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Function;
using ori::Instr;
using ori::kNoId;

namespace {

bool isPlainBranch(const Instr* instr) {
  return instr && instr->op == isa::Op::BRA;
}

/// The block that control reaches from `id` through blocks that only branch on.
BlockId finalTarget(const Function& function, BlockId id) {
  for (unsigned steps = 0; steps < 32; ++steps) {
    const Block* block = function.block(id);
    BlockId next = kNoId;
    if (block->empty())
      next = block->fallthrough;
    else if (block->first == block->last && isPlainBranch(block->first) && !ori::isConditional(*block->first))
      next = block->first->op_(1).reg;
    if (next == kNoId || next == id) return id;
    id = next;
  }
  return id;
}

bool hasPhis(const Block& block) {
  return block.first && block.first->op == isa::Op::PHI;
}

bool thread(Function& function, Block* block) {
  bool changed = false;
  if (isPlainBranch(block->last)) {
    const BlockId target = block->last->op_(1).reg, end = finalTarget(function, target);
    if (end != target && !hasPhis(*function.block(end))) {
      function.setOperand(block->last, 1, Operand::label(end));
      changed = true;
    }
  }
  if (block->fallthrough != kNoId) {
    const BlockId end = finalTarget(function, block->fallthrough);
    if (end != block->fallthrough && !hasPhis(*function.block(end))) {
      block->fallthrough = end;
      changed = true;
    }
  }
  return changed;
}

/// Folds a branch whose condition is known, or whose two targets are the same.
bool fold(Function& function, Block* block) {
  Instr* last = block->last;
  if (!isPlainBranch(last)) return false;
  const auto& guard = last->guard();
  if (guard.isZeroReg() && guard.inverted()) { // @!PT: never taken
    function.erase(last);
    return true;
  }
  if (ori::isConditional(*last) && block->fallthrough == last->op_(1).reg) {
    function.erase(last);
    return true;
  }
  return false;
}

/// Turns a branch that leads some lanes to an exit into a guarded EXIT. The remaining lanes do not diverge then: after
/// the test of `if (i >= n) return;` the warp continues as one, with fewer lanes. In loops the branch is kept: loop
/// analyses need an exit edge (phase 71 tries again).
bool exitOutsideLoops(Function& function, PhaseContext& context, Block* block) {
  if (block->loopDepth == 0) return exitUnderGuard(function, context, block);
  const Instr* branch = block->last;
  if (isPlainBranch(branch) && branch->isGuarded() && block->fallthrough != kNoId &&
      (isPlainExit(*function.block(branch->op_(1).reg)) || isPlainExit(*function.block(block->fallthrough))))
    context.remarks.missed(branch, "not replaced with a guarded EXIT: the branch is a loop exit");
  return false;
}

} // namespace

/// Phase 15. Branches to branches are threaded to the final target. Branches that decide nothing are deleted, branches
/// to EXIT become guarded EXITs, unreachable blocks are removed, and a block is merged into its only predecessor. Long
/// sequences of instructions under one guard get a branch (branchAroundGuardedRuns).
bool oriBranchOpt(Function& function, PhaseContext& context) {
  bool changedAtAll = branchAroundGuardedRuns(function, context);
  for (bool changed = true; changed;) {
    changed = false;
    for (Block* block : function.layout()) {
      changed |= fold(function, block);
      changed |= thread(function, block);
      changed |= exitOutsideLoops(function, context, block);
    }
    changed |= ori::removeUnreachableBlocks(function);
    changed |= ori::mergeBlocks(function);
    changedAtAll |= changed;
  }
  return changedAtAll;
}

} // namespace orias::phases

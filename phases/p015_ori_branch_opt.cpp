#include "encoder/isa/desc.h"
#include "ori/cfg_edit.h"
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

/// Where control ends up that enters `id`: through blocks that do nothing but go on.
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

/// A branch whose condition is known, or whose two ways are one.
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

} // namespace

/// Phase 15. Branches to branches go to their end, branches that decide nothing go, unreachable blocks are dropped, and
/// a block joins the one that only it leads to.
bool oriBranchOpt(Function& function, PhaseContext&) {
  bool changedAtAll = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (Block* block : function.layout()) {
      changed |= fold(function, block);
      changed |= thread(function, block);
    }
    changed |= ori::removeUnreachableBlocks(function);
    changed |= ori::mergeBlocks(function);
    changedAtAll |= changed;
  }
  return changedAtAll;
}

} // namespace orias::phases

#include "phases/exit_under_guard.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"

#include <algorithm>

namespace orias::phases {

using isa::Operand;
using ori::Block;
using ori::Function;
using ori::Instr;

namespace {

/// Whether each loop around the block has an exit other than plain EXITs, so that the loop would still have an exit
/// edge.
bool leavesOtherWays(const Function& function, const ori::Loops& loops, const Block& block) {
  for (ori::LoopId loop = loops.innermost(block.id); loop != ori::kNoId; loop = loops.loop(loop).parent)
    if (std::ranges::all_of(loops.exits(loop),
                            [&](const auto& exit) { return isPlainExit(*function.block(exit.second)); }))
      return false;
  return true;
}

} // namespace

bool isPlainExit(const Block& block) {
  const Instr* exit = block.first;
  return exit && exit == block.last && exit->op == isa::Op::EXIT && !ori::isConditional(*exit) &&
         isa::modAs<std::uint8_t>(*exit, isa::Mod::Sub) == 0;
}

bool exitUnderGuard(Function& function, PhaseContext& context, Block* block) {
  Instr* branch = block->last;
  if (!branch || branch->op != isa::Op::BRA || !branch->isGuarded() || block->fallthrough == ori::kNoId) return false;
  const Block* taken = function.block(branch->op_(1).reg);
  const Block* other = function.block(block->fallthrough);
  const bool takenEnds = isPlainExit(*taken), otherEnds = isPlainExit(*other);
  if (!takenEnds && !otherEnds) return false;
  const Operand& pp = branch->op_(0);
  const bool hasSecondCondition = !(pp.isNone() || (pp.isZeroReg() && !pp.inverted()));
  if (hasSecondCondition) {
    context.remarks.missed(branch, "not replaced with a guarded EXIT: the branch has a second condition");
    return false;
  }
  const Operand guard = takenEnds ? branch->guard().value() : branch->guard().value().notted();
  context.remarks.applied(branch, "replaced a branch to EXIT with a guarded EXIT");
  block->fallthrough = takenEnds ? other->id : taken->id;
  const Operand operands[] = {Operand::pt()};
  function.rewrite(branch, isa::Op::EXIT, operands);
  function.setGuard(branch, guard);
  return true;
}

bool exitLoopsUnderGuard(Function& function, PhaseContext& context) {
  const ori::Loops& loops = function.analyses().loops();
  const ori::Divergence& divergence = function.analyses().divergence();
  std::vector<Block*> blocks;
  for (Block* block : function.layout()) {
    if (!divergence.cfg().isReachable(block->id) || !ori::plainBranch(*block) || block->fallthrough == ori::kNoId)
      continue;
    const bool leads =
        isPlainExit(*function.block(block->last->op_(1).reg)) || isPlainExit(*function.block(block->fallthrough));
    if (leads && divergence.branchesApart(block->id) && leavesOtherWays(function, loops, *block))
      blocks.push_back(block);
  }
  bool changed = false;
  for (Block* block : blocks)
    changed |= exitUnderGuard(function, context, block);
  if (changed) ori::removeUnreachableBlocks(function);
  return changed;
}

} // namespace orias::phases

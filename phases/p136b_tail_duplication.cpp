#include "ori/cfg_edit.h"
#include "phases/copy_block.h"
#include "phases/phases.h"
#include "phases/tail_merge.h"

#include <fmt/format.h>
#include <vector>

namespace orias::phases {

using isa::Op;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;

namespace {

/// The target of a copy may be short, too. This bounds loops of branches.
constexpr unsigned kMaxRounds = 4;

class Duplicator {
 public:
  Duplicator(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context),
        mostInstructions_(static_cast<unsigned>(context.knobs.get(Knob::TailDupSize))) {}

  bool run() {
    isKept_.assign(function_.blockIdCount(), false);
    isKept_[function_.entry()->id] = true;
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block)
        if (!ori::isTerminator(instr.op))
          for (const ori::Operand& o : instr.ops())
            if (o.isLabel()) isKept_[o.reg] = true;
    for (unsigned round = 0; round < kMaxRounds; ++round)
      if (!runOnce()) break;
    if (changed_)
      while (eraseUnused()) {
      }
    return changed_;
  }

 private:
  /// Removes blocks that were reached only by jumps that are copies now.
  bool eraseUnused() {
    std::vector<bool> isUsed = isKept_;
    for (const Block* block : function_.layout()) {
      function_.forEachSuccessor(*block, [&](BlockId id) { isUsed[id] = true; });
      if (block->fallthrough != kNoId) isUsed[block->fallthrough] = true; // the return address of a subroutine
    }
    std::vector<bool> doomed(function_.blockIdCount(), false);
    bool found = false;
    for (const Block* block : function_.layout()) {
      doomed[block->id] = isTail_[block->id] && !isUsed[block->id];
      found |= doomed[block->id];
    }
    if (found) function_.eraseBlocks(doomed);
    return found;
  }

  bool runOnce() {
    bool found = false;
    isTail_.resize(function_.blockIdCount(), false);
    const std::vector<Block*> layout = function_.layout();
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const Block* after = i + 1 < layout.size() ? layout[i + 1] : nullptr;
      found |= duplicateInto(layout[i], after);
    }
    changed_ |= found;
    return found;
  }

  /// Replaces the jump at the end of a block, if it has one, by a copy of its target.
  bool duplicateInto(Block* from, const Block* after) {
    const Instr* last = from->last;
    const bool endsOpen = !last || !ori::isTerminator(last->op);
    const Instr* jump = ori::plainBranch(*from);
    if (jump && jump->isGuarded()) jump = nullptr;
    BlockId to = kNoId;
    if (jump)
      to = jump->op_(1).reg;
    else if (endsOpen && from->fallthrough != kNoId && (!after || after->id != from->fallthrough))
      to = from->fallthrough; // phase 112 would add a branch
    if (to == kNoId || to == from->id || (last && last->op == Op::CALL_REL)) return false;
    const Block* tail = function_.block(to);
    if (isKept_[to] || !isShortTail(*tail)) return false;
    isTail_[to] = true;
    context_.remarks.applied(
        last, fmt::format("jump replaced by a copy of its target of {} instructions", sizeOf(*tail)), sizeOf(*tail));
    if (jump) function_.erase(from->last);
    const std::uint8_t depth = from->loopDepth;
    copyBlock(function_, *tail, from, [](BlockId id) { return id; });
    from->loopDepth = depth;
    return true;
  }

  static unsigned sizeOf(const Block& block) {
    unsigned count = 0;
    for ([[maybe_unused]] const Instr& instr : block)
      ++count;
    return count;
  }

  /// Whether the block has a few instructions with position-independent effects, followed by the end of the program or
  /// a jump.
  bool isShortTail(const Block& block) const {
    if (!block.last || block.empty()) return false;
    const Instr* branch = ori::plainBranch(block);
    const bool isJump = branch && !branch->isGuarded() && branch->op_(1).reg != block.id;
    if (!isPlainExit(*block.last) && !isJump) return false;
    unsigned count = 0;
    for (const Instr& instr : block) {
      if (++count > mostInstructions_) return false;
      if (&instr != block.last && !mayBeShared(instr)) return false;
    }
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const unsigned mostInstructions_;
  std::vector<bool> isKept_; ///< by block: the entry, and those that instructions within other blocks refer to (BSSY)
  std::vector<bool> isTail_; ///< by block: has been copied
  bool changed_ = false;
};

} // namespace

/// Phase 136b, TailDuplication. Replaces an unconditional jump by a copy of its target, if that has a few instructions
/// and ends the program or jumps on: one branch less is executed. Registers are allocated, so the copy has the same
/// effect. Blocks with convergence barriers are not copied; lanes need not reconverge in other blocks.
bool tailDuplication(ori::Function& function, PhaseContext& context) {
  return Duplicator(function, context).run();
}

} // namespace orias::phases

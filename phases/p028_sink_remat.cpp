#include "encoder/isa/desc.h"
#include "ori/analysis/divergence.h"
#include "ori/analysis/dominators.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <fmt/format.h>

namespace orias::phases {

using isa::File;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;

namespace {

class Sinker {
 public:
  Sinker(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function), divergence_(cfg_),
        dominators_(ori::DomTree::dominators(cfg_)) {}

  bool run() {
    bool changed = false;
    // Readers first: what feeds a sunken instruction may follow it.
    const auto order = cfg_.reversePostOrder();
    for (std::size_t i = order.size(); i-- > 0;) {
      Block* block = function_.block(order[i]);
      if (cfg_.successors(order[i]).size() < 2) continue;
      for (Instr *instr = block->last, *above; instr; instr = above) {
        above = instr->prev;
        changed |= sink(*instr);
      }
    }
    return changed;
  }

 private:
  bool sink(Instr& instr) {
    if (speculationOf(function_, instr) != Speculation::Free) return false;
    unsigned sources = 0;
    const ori::Operand* result = nullptr;
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isVirtual()) continue;
      if (o.isDef) {
        if (result) return false;
        result = &o;
      } else {
        if (function_.vreg(o.reg).multiDef) return false;
        sources += o.width;
      }
    }
    if (!result || !function_.singleDef(result->reg) || result->width != function_.vreg(result->reg).width)
      return false;
    // Sources that live on instead of the result would take more registers than it.
    if (sources > result->width) return false;

    BlockId to = kNoId;
    bool isRead = false;
    function_.forEachUse(result->reg, [&](ori::Operand& use) {
      isRead = true;
      const BlockId at = placeOf(use);
      to = to == kNoId ? at : dominators_.commonDominator(to, at);
    });
    const Block* from = instr.block;
    if (!isRead || to == kNoId || !dominators_.strictlyDominates(from->id, to)) return false;
    // Not into loops, nor where the warp could not compute it once any more.
    const bool isForWarp = divergence_.isUniformBlock(from->id) && !divergence_.isDivergent(result->reg);
    while (to != from->id &&
           (function_.block(to)->loopDepth > from->loopDepth || (isForWarp && !divergence_.isUniformBlock(to))))
      to = dominators_.idom(to);
    // A block that is run whenever this one is gains nothing.
    if (to == from->id || cfg_.predecessors(to).size() != 1) return false;

    context_.remarks.did(&instr, fmt::format("{} sinks to where it is read", isa::desc(instr.op).mnemonic));
    Block* block = function_.block(to);
    Instr* first = block->first;
    while (first && first->op == isa::Op::PHI)
      first = first->next;
    function_.unlink(&instr);
    if (first)
      function_.insertBefore(first, &instr);
    else
      function_.append(block, &instr);
    return true;
  }

  /// A phi reads at the end of the predecessor that the value comes from.
  static BlockId placeOf(const ori::Operand& use) {
    const Instr& reader = *use.owner;
    if (reader.op != isa::Op::PHI) return reader.block->id;
    const auto slot = static_cast<unsigned>(&use - reader.operands);
    return reader.op_(slot + 1).reg;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg cfg_;
  const ori::Divergence divergence_;
  const ori::DomTree dominators_;
};

} // namespace

/// Phase 28. What only one side of a branch reads is computed there, constant loads that phase 27 calls safe included:
/// who goes the other way saves the instruction and the register. Sources must not take more registers on the way than
/// the result, nothing sinks into a loop, and what the warp may compute once (phase 74) stays where it can. Values that
/// are cheap to make again are recognised by the allocator when it runs out of registers (RegAllocRematEnable).
bool sinkRemat(ori::Function& function, PhaseContext& context) {
  return Sinker(function, context).run();
}

} // namespace orias::phases

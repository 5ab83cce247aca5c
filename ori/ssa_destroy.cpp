#include "ori/analysis/guarded_defs.h"
#include "ori/builder.h"
#include "ori/ssa.h"
#include "support/check.h"

#include <utility>
#include <vector>

namespace orias::ori {

namespace {

/// The insertion point for copies to the phis of a block's successors: before the terminator.
Builder atEnd(Function& function, Block& block) {
  if (block.last && isTerminator(block.last->op)) return Builder::before(function, block.last);
  Builder builder(function, &block);
  if (block.last) builder.setSource(block.last->source);
  return builder;
}

/// The phis of a block, in order.
std::vector<Instr*> phisOf(const Block& block) {
  std::vector<Instr*> phis;
  for (Instr& instr : block) {
    if (instr.op != Op::PHI) break;
    phis.push_back(&instr);
  }
  return phis;
}

/// Replaces phis by copies. All phis that define parts of one register share one intermediate register between the
/// predecessors and the head, so that wide values can be coalesced as a whole. Returns the number of copies.
unsigned replacePhis(Function& function, Block& block) {
  const std::vector<Instr*> phis = phisOf(block);
  unsigned copies = 0;
  std::vector<std::pair<VRegId, VRegId>> between; // result, intermediate register
  Instr* firstOther = phis.back()->next;
  for (Instr* phi : phis) {
    const isa::Operand result = phi->op_(0).value();
    ORIAS_CHECK(result.isVirtual());
    // Phis of one register are usually adjacent. If not, the register gets another intermediate one, which is also
    // correct.
    if (between.empty() || between.back().first != result.reg) {
      const VReg reg = function.vreg(result.reg);
      const VRegId made = function.newVReg(reg.file, reg.width, reg.name);
      function.vreg(made).align = reg.align;
      function.vreg(made).divergent = reg.divergent;
      between.emplace_back(result.reg, made);
    }
    isa::Operand middle = result;
    middle.reg = between.back().second;
    for (unsigned i = 1; i + 1 < phi->operandCount; i += 2) {
      if (phi->op_(i).isNone()) continue;
      Builder builder = atEnd(function, *function.block(phi->op_(i + 1).reg));
      builder.copy(middle, phi->op_(i).value());
      ++copies;
    }
    Builder head = firstOther ? Builder::before(function, firstOther) : Builder(function, &block);
    head.setSource(phi->source);
    head.copy(result, middle);
    ++copies;
  }
  for (Instr* phi : phis)
    function.erase(phi);
  return copies;
}

/// The value is undefined, but the allocator needs a definition.
void defineUndefined(Function& function, Instr& instr) {
  const isa::Operand result = instr.op_(0).value();
  if (result.isReg(File::B)) {
    function.erase(&instr); // barriers have no zero register; a barrier that is never set is not used either
    return;
  }
  const isa::Operand operands[] = {result, isa::Operand::zero(result.file, result.width)};
  function.rewrite(&instr, Op::COPY, operands);
}

} // namespace

SsaCopies destroySsa(Function& function, const Coalescing& how, bool coalesces) {
  SsaCopies copies;
  const auto firstOfPhis = static_cast<VRegId>(function.vregCount());
  for (Block* block : function.layout()) {
    if (block->first && block->first->op == Op::PHI) copies.made += replacePhis(function, *block);
    function.forEachSafe(*block, [&](Instr& instr) {
      // Outside SSA form a guarded definition keeps the old value, unless it is marked.
      instr.hasUndefinedRest = leavesRestUndefined(function, instr);
      if (instr.op == Op::UNDEF) defineUndefined(function, instr);
    });
  }
  function.ssa = false;
  function.noteCodeChange();
  for (VRegId id = 0; id < function.vregCount(); ++id)
    function.vreg(id).multiDef = false;
  if (coalesces) copies.merged = coalesceCopies(function, how, firstOfPhis);
  return copies;
}

} // namespace orias::ori

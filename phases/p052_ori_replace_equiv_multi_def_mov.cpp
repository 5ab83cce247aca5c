#include "ori/analysis/analyses.h"
#include "phases/optimize/congruence.h"
#include "phases/optimize/merge_induction_variables.h"
#include "phases/optimize/phis.h"
#include "phases/optimize/rule_table.h"
#include "phases/phases.h"

#include <fmt/format.h>
#include <map>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;
using ori::VRegId;

namespace {

/// The phis of a block, in order, by the registers whose parts they define.
std::map<VRegId, std::vector<Instr*>> phisByRegister(const ori::Block& block) {
  std::map<VRegId, std::vector<Instr*>> registers;
  for (Instr& phi : block) {
    if (phi.op != Op::PHI) break;
    registers[phi.op_(0).reg].push_back(&phi);
  }
  return registers;
}

class EqualPhis {
 public:
  EqualPhis(ori::Function& function, PhaseContext& context, const Rewriter& rewriter, const Congruence& congruence)
      : function_(function), context_(context), rewriter_(rewriter), congruence_(congruence) {}

  bool run() {
    bool changed = false;
    for (ori::Block* block : function_.layout())
      for (const auto& [reg, phis] : phisByRegister(*block))
        changed |= visit(phis);
    return changed;
  }

 private:
  /// The register part that the first equal phi of the block defines; none where this one is the first.
  Operand leaderOf(const Instr& phi) const {
    const Operand result = phi.op_(0).value();
    const bool isPlain = (result.isReg(File::R) || result.isReg(File::P)) && rewriter_.isSingle(result.reg);
    if (!isPlain || result.width != 1) return {};
    const ori::Components& parts = congruence_.components();
    const ori::CompId own = parts.of(result.reg, result.sub), number = congruence_.numberOf(own);
    if (number == own || number == ori::kNoId) return {};
    return function_.part(parts.vreg(number), parts.sub(number));
  }

  /// Replaces all parts of a register or none: a pair with one word in another register needs copies.
  bool visit(const std::vector<Instr*>& phis) {
    const Operand leader = leaderOf(*phis.front());
    if (leader.isNone()) return false;
    const VRegId reg = phis.front()->op_(0).reg;
    const bool isWord = function_.vreg(reg).width == 1;
    bool isWhole = isWord || function_.vreg(leader.reg).width == function_.vreg(reg).width;
    for (const Instr* phi : phis) {
      const Operand other = leaderOf(*phi);
      isWhole &= !other.isNone() && other.reg == leader.reg && (isWord || other.sub == phi->op_(0).sub);
    }
    if (!isWhole || leader.reg == reg) {
      context_.remarks.missed(phis.front(), "phi not merged: its register has other components");
      return false;
    }
    context_.remarks.applied(phis.front(), "merged two equal phis", static_cast<std::int64_t>(phis.size()));
    for (Instr* phi : phis)
      becomeCopy(function_, *phi, leaderOf(*phi));
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const Rewriter& rewriter_;
  const Congruence& congruence_;
};

/// Whether there is anything to compare: two phis in one block.
bool hasPhisTogether(const ori::Function& function) {
  for (const ori::Block* block : function.layout())
    if (block->first && block->first->op == Op::PHI && block->first->next && block->first->next->op == Op::PHI)
      return true;
  return false;
}

/// Propagates copies into their readers, and commons computations that have become equal.
void shareReaders(ori::Function& function, PhaseContext& context) {
  static constexpr RuleTable kRules{propagateCopies, foldFrameAddress, foldUniformBase};
  Rewriter(function).run(kRules, context.knobs.get(Knob::GeneralOptimizeMaxRounds));
  numberValues(function);
}

} // namespace

/// Phase 52. "Multi-def moves" are the phis: moves that represent several definitions. Phis of a block that always
/// carry equal values become one, around loops as well: counters that start and step alike. Also merges counters that
/// differ by a number where their readers can add it.
bool oriReplaceEquivMultiDefMov(ori::Function& function, PhaseContext& context) {
  if (!function.ssa || !hasPhisTogether(function)) return false;
  bool changed = false;
  {
    const Rewriter rewriter(function);
    const ori::Cfg& cfg = function.analyses().cfg();
    Congruence congruence(rewriter, cfg);
    if (congruence.compute(context.knobs.get(Knob::MultiDefMovRounds)))
      changed = EqualPhis(function, context, rewriter, congruence).run();
    else
      context.remarks.missed(nullptr, "not merged: the congruence analysis needs more iterations than the knob allows");
  }
  if (changed) shareReaders(function, context);
  if (context.knobs.enabled(Knob::MultiDefMovOffsets) && mergeInductionVariables(function, context)) {
    shareReaders(function, context);
    changed = true;
  }
  return changed;
}

} // namespace orias::phases

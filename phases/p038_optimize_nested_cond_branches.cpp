#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/branch_walk.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;

namespace {

/// The most issue slots of the inner test: lanes that the outer one has decided already run it, too.
constexpr unsigned kMaxSlots = 4;
/// PLOP3 of (a, b, c): a or b.
constexpr std::int32_t kOrTable = 0xfc;

/// `if (outer) goto target; if (inner) goto target;` in two blocks.
struct Nest {
  Block* outer;
  Block* inner;
  Block* target;                ///< where both go
  Block* rest;                  ///< where neither goes
  Operand outerGoes, innerGoes; ///< the conditions under which they go to the target
};

class Flattener {
 public:
  Flattener(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        isGone_(function.blockIdCount(), false) {}

  bool run() {
    // A merged branch may be the inner test of the block before; its target keeps its other predecessors.
    return changeFromEnds(function_, cfg_, isGone_, [&](Block* block) {
      const std::optional<Nest> nest = find(block);
      if (!nest || !pays(*nest)) return false;
      flatten(*nest);
      return true;
    });
  }

 private:
  std::optional<Nest> find(Block* outer) const {
    for (const unsigned side : {0u, 1u}) {
      const auto found = nestedBranchesAt(cfg_, outer, side);
      if (!found || found->target == outer->id) continue;
      if (found->inner->first->op == Op::PHI) continue;
      return Nest{
          outer,           found->inner, function_.block(found->target), function_.block(found->rest), found->outerGoes,
          found->innerGoes};
    }
    return std::nullopt;
  }

  bool pays(const Nest& nest) const {
    const auto reportMissed = [&](std::string why) {
      context_.remarks.missed(nest.inner->last, "branches not merged: " + why);
      return false;
    };
    unsigned slots = 0;
    for (const Instr& instr : *nest.inner) {
      if (&instr == nest.inner->last) break;
      if (speculationOf(function_, instr) != Speculation::Free)
        return reportMissed(fmt::format("{} runs for the second branch only", isa::desc(instr.op).mnemonic));
      slots += issueSlots(context_.target, instr);
    }
    if (slots > kMaxSlots)
      return reportMissed(fmt::format("{} issue slots before the second branch, maximum is {}", slots, kMaxSlots));
    for (const Operand& goes : {nest.outerGoes, nest.innerGoes})
      if (function_.vreg(goes.reg).multiDef) return reportMissed("a condition has several definitions");
    for (const Instr& phi : *nest.target) {
      if (phi.op != Op::PHI) break;
      const Operand *outer = ori::phiValueFrom(phi, nest.outer->id), *inner = ori::phiValueFrom(phi, nest.inner->id);
      if (!outer || !inner || *outer != *inner) return reportMissed("a phi of the target distinguishes the branches");
    }
    return true;
  }

  void flatten(const Nest& nest) {
    Instr* branch = nest.outer->last;
    context_.remarks.applied(branch, "merged two branches to one target");
    function_.forEachSafe(*nest.inner, [&](Instr& instr) {
      if (&instr == nest.inner->last) return;
      function_.unlink(&instr);
      function_.insertBefore(branch, &instr);
      function_.touch(&instr);
    });
    ori::Builder b = ori::Builder::before(function_, branch);
    b.setSource(branch->source);
    const Operand either = b.newP();
    b.emit(Op::PLOP3, {either, Operand::pt(), nest.outerGoes, nest.innerGoes, Operand::pt(),
                       Operand::immediate(kOrTable), Operand::immediate(0)});
    function_.setGuard(branch, either);
    function_.setOperand(branch, 1, Operand::label(nest.target->id));
    nest.outer->fallthrough = nest.rest->id;
    ori::removePhiSource(function_, nest.target, nest.inner->id);
    function_.renamePhiSource(nest.rest, nest.inner->id, nest.outer->id);
    function_.erase(nest.inner->last);
    nest.inner->fallthrough = kNoId;
    isGone_[nest.inner->id] = true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  std::vector<bool> isGone_; // by block
};

} // namespace

/// Phase 38. Merges two consecutive tests with the same target into one branch on either condition, when the second is
/// cheap and has no side effects: short-circuit conditions, ranges, chains of equal cases. Chains are processed from
/// their ends.
bool optimizeNestedCondBranches(ori::Function& function, PhaseContext& context) {
  return function.ssa && Flattener(function, context).run();
}

} // namespace orias::phases

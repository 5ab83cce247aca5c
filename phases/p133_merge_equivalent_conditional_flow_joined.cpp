#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/branch_walk.h"
#include "phases/optimize/single_def_values.h"
#include "phases/p133_merge_equivalent_conditional_flow.h"
#include "phases/speculation.h"

#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;

namespace {

/// PLOP3 of (a, b, c): a or b.
constexpr std::int32_t kOrTable = 0xfc;

/// Two branches to one target.
using Chain = NestedBranches;

class Joiner {
 public:
  Joiner(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()), isSingle_(singleDefValues(function)),
        isGone_(function.blockIdCount(), false),
        mostSlots_(static_cast<unsigned>(context.knobs.get(Knob::MergeFlowJoinedSlots))) {}

  bool run() {
    // A joined branch is one test for the blocks before it.
    return changeFromEnds(function_, cfg_, isGone_, [&](Block* block) {
      const std::optional<Chain> chain = find(block);
      if (!chain || !pays(*chain)) return false;
      join(*chain);
      return true;
    });
  }

 private:
  std::optional<Chain> find(Block* outer) const {
    const auto chain = nestedBranchesAt(cfg_, outer, 0);
    return chain ? chain : nestedBranchesAt(cfg_, outer, 1);
  }

  bool pays(const Chain& chain) {
    const auto reportMissed = [&](std::string why) {
      context_.remarks.missed(chain.inner->last, "branches not merged: " + why);
      return false;
    };
    if (cfg_.isRetreating(chain.outer->id, chain.target)) return reportMissed("both edges are back edges");
    if (function_.block(chain.target)->loopDepth < chain.outer->loopDepth ||
        function_.block(chain.rest)->loopDepth < chain.outer->loopDepth)
      return reportMissed("both edges are loop exits");
    if (areCases(chain)) return reportMissed("they are cases of one switch");
    unsigned slots = 0;
    for (const Instr& instr : *chain.inner) {
      if (&instr == chain.inner->last) break;
      if (speculationOf(function_, instr) != Speculation::Free || !definesSingles(instr))
        return reportMissed(fmt::format("{} runs for the second branch only", isa::desc(instr.op).mnemonic));
      slots += issueSlots(context_.target, instr);
    }
    if (slots > mostSlots_)
      return reportMissed(fmt::format("{} issue slots before the second branch, maximum is {}", slots, mostSlots_));
    return true;
  }

  /// Whether the results have no other definitions. Then running the instruction additionally overwrites no value.
  bool definesSingles(const Instr& instr) const {
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isVirtual() && !isSingle_[o.reg]) return false;
    return true;
  }

  /// Comparisons of one value with numbers: phase 14 makes a tree of many of them.
  bool areCases(const Chain& chain) const {
    const Instr *a = function_.singleDef(chain.outerGoes.reg), *b = function_.singleDef(chain.innerGoes.reg);
    return a && b && isCase(*a) && isCase(*b) && a->op_(2).value() == b->op_(2).value();
  }
  static bool isCase(const Instr& compare) {
    if (compare.op != Op::ISETP) return false;
    const auto order = isa::modAs<isa::ICmp>(compare, Mod::Cmp);
    const ori::Operand& number = compare.op_(3);
    return (order == isa::ICmp::EQ || order == isa::ICmp::NE) && (number.isImm() || number.isZeroReg());
  }

  void join(const Chain& chain) {
    Instr* branch = chain.outer->last;
    context_.remarks.applied(branch, "merged two branches to one target");
    function_.forEachSafe(*chain.inner, [&](Instr& instr) {
      if (&instr == chain.inner->last) return;
      function_.unlink(&instr);
      function_.insertBefore(branch, &instr);
      function_.touch(&instr);
    });
    ori::Builder b = ori::Builder::before(function_, branch);
    b.setSource(branch->source);
    const Operand either = b.newP();
    b.emit(Op::PLOP3, {either, Operand::pt(), chain.outerGoes, chain.innerGoes, Operand::pt(),
                       Operand::immediate(kOrTable), Operand::immediate(0)});
    function_.setGuard(branch, either);
    function_.setOperand(branch, 1, Operand::label(chain.target));
    chain.outer->fallthrough = chain.rest;
    function_.erase(chain.inner->last);
    chain.inner->fallthrough = kNoId;
    isGone_[chain.inner->id] = true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const std::vector<bool> isSingle_; // by register
  std::vector<bool> isGone_;         // by block
  const unsigned mostSlots_;
};

} // namespace

bool mergeBranchChains(ori::Function& function, PhaseContext& context) {
  return Joiner(function, context).run();
}

} // namespace orias::phases

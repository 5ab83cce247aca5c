#include "ori/analysis/analyses.h"
#include "ori/analysis/components.h"
#include "phases/optimize/phis.h"
#include "phases/optimize/rule_table.h"
#include "phases/phases.h"
#include "phases/removable.h"

#include <map>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::CompId;
using ori::Instr;
using ori::kNoId;
using ori::VRegId;

namespace {

/// A component, or a number that is in several of them.
using Value = std::uint64_t;
constexpr Value kUnknown = ~Value{0}, kNumber = Value{1} << 32;

/// Which value each phi carries, if it is only one. Optimistic: all phis count as copies at first, and as separate
/// values when two values meet in them. So the phis of a cycle that a single value enters are copies of it.
class SingleSources {
 public:
  SingleSources(const Rewriter& rewriter, const ori::Cfg& cfg)
      : rewriter_(rewriter), cfg_(cfg), parts_(cfg.function()), value_(parts_.count(), kUnknown) {
    for (ori::BlockId id : cfg.reversePostOrder())
      for (Instr& instr : *cfg.function().block(id)) {
        if (instr.op == Op::PHI) phis_.push_back(&instr);
        for (const ori::Operand& o : instr.ops())
          if (o.isDef && instr.op != Op::PHI)
            parts_.forEach(o.value(), [&](CompId part) { value_[part] = numberOr(part, o.value()); });
      }
  }

  /// Returns false when that takes more than `maxRounds` iterations.
  bool compute(std::int64_t maxRounds) {
    for (std::int64_t round = 0; round < maxRounds; ++round) {
      bool changed = false;
      for (const Instr* phi : phis_) {
        const CompId own = partOf(*phi);
        if (own == kNoId) continue;
        const Value now = meet(*phi, own);
        changed |= value_[own] != now;
        value_[own] = now;
      }
      if (!changed) return true;
    }
    return false;
  }

  const std::vector<Instr*>& phis() const { return phis_; }

  /// The value that the phi always carries; none when it is a value of its own.
  Operand valueOf(const Instr& phi) const {
    const CompId own = partOf(phi);
    if (own == kNoId || value_[own] == own || value_[own] == kUnknown) return {};
    if (value_[own] & kNumber) return Operand::immediate(static_cast<std::int32_t>(value_[own] & ~kNumber));
    const auto part = static_cast<CompId>(value_[own]);
    return cfg_.function().part(parts_.vreg(part), parts_.sub(part));
  }

 private:
  /// The number that a word is set to, or else the component.
  Value numberOr(CompId part, const Operand& result) const {
    const auto number = result.isReg(File::R) && result.width == 1 ? rewriter_.constantOf(plain(result)) : std::nullopt;
    return number ? kNumber | *number : part;
  }
  static Operand plain(Operand operand) {
    operand.flags &= Operand::kVirtual;
    return operand;
  }

  /// The component of a phi of one register; kNoId for others.
  CompId partOf(const Instr& phi) const {
    const Operand result = phi.op_(0).value();
    const bool isPlain = (result.isReg(File::R) || result.isReg(File::P)) && result.width == 1;
    return isPlain && rewriter_.isSingle(result.reg) ? parts_.of(result.reg, result.sub) : kNoId;
  }

  /// Ignores values that are unknown yet. Undefined values count: on that path, the other value need not be available.
  Value meet(const Instr& phi, CompId own) const {
    Value value = kUnknown;
    for (unsigned i = 1; i + 1 < phi.operandCount; i += 2) {
      const Operand source = phi.op_(i).value();
      if (!source.isReg() || !source.isVirtual() || source.inverted() || !rewriter_.isStable(source)) return own;
      const CompId part = parts_.of(source.reg, source.sub);
      const Value one = part == own ? kUnknown : value_[part];
      if (one == kUnknown || one == own) continue;
      if (value != kUnknown && value != one) return own;
      value = one;
    }
    return value;
  }

  const Rewriter& rewriter_;
  const ori::Cfg& cfg_;
  const ori::Components parts_;
  std::vector<Value> value_; // by component
  std::vector<Instr*> phis_;
};

/// Replaces phis that carry one value by copies of it. Parts of a register are replaced together or not at all:
/// otherwise the register would be copied where it is used.
bool replaceSingleSources(ori::Function& function, PhaseContext& context) {
  const Rewriter rewriter(function);
  const ori::Cfg& cfg = function.analyses().cfg();
  SingleSources sources(rewriter, cfg);
  if (!sources.compute(context.knobs.get(Knob::MultiDefMovRounds))) {
    context.remarks.missed(nullptr, "not merged: the congruence analysis needs more iterations than the knob allows");
    return false;
  }
  std::map<std::pair<ori::BlockId, VRegId>, std::vector<Instr*>> registers;
  for (Instr* phi : sources.phis())
    registers[{phi->block->id, phi->op_(0).reg}].push_back(phi);
  bool changed = false;
  for (const auto& [place, phis] : registers) {
    const Operand first = sources.valueOf(*phis.front());
    if (first.isNone()) continue;
    const unsigned width = function.vreg(place.second).width;
    bool isWhole = width == 1 || (first.isReg() && function.vreg(first.reg).width == width);
    for (const Instr* phi : phis) {
      const Operand value = sources.valueOf(*phi);
      isWhole &= width == 1 || (!value.isNone() && value.reg == first.reg && value.sub == phi->op_(0).sub);
    }
    if (!isWhole) {
      context.remarks.missed(phis.front(), "phi not removed: its register has other components");
      continue;
    }
    context.remarks.applied(phis.front(), "removed a phi with one value");
    for (Instr* phi : phis)
      becomeCopy(function, *phi, sources.valueOf(*phi));
    changed = true;
  }
  return changed;
}

/// Deletes cycles that only keep themselves alive: phis that feed each other, and their steps, without other users.
bool dropDeadCycles(ori::Function& function, PhaseContext& context) {
  std::vector<bool> isWanted(function.instrIdCount(), false);
  std::vector<bool> isRead(function.vregCount(), false);
  std::vector<const Instr*> work;
  const auto want = [&](const Instr& instr) {
    if (isWanted[instr.id]) return;
    isWanted[instr.id] = true;
    work.push_back(&instr);
  };
  for (const ori::Block* block : function.layout())
    for (const Instr& instr : *block) {
      bool isRoot = !isRemovable(instr);
      for (const ori::Operand& o : instr.ops())
        isRoot |= o.isDef && o.isReg() && !o.isZeroReg() && !o.isVirtual();
      if (isRoot) want(instr);
    }
  while (!work.empty()) {
    const Instr& instr = *work.back();
    work.pop_back();
    for (const ori::Operand& o : instr.refs()) {
      if (o.isDef || !o.isVirtual() || isRead[o.reg]) continue;
      isRead[o.reg] = true;
      function.forEachDef(o.reg, [&](ori::Ref def) {
        if (def.owner->block) want(*def.owner);
      });
    }
  }
  unsigned phis = 0;
  const Instr* where = nullptr;
  std::vector<Instr*> dead;
  for (const ori::Block* block : function.layout())
    for (Instr& instr : *block) {
      if (isWanted[instr.id]) continue;
      dead.push_back(&instr);
      if (instr.op != Op::PHI) continue;
      ++phis;
      if (!where) where = &instr;
    }
  if (phis > 0) context.remarks.applied(where, "removed phis that only use each other", phis);
  for (Instr* instr : dead)
    function.erase(instr);
  return !dead.empty();
}

} // namespace

/// Phase 62. Replaces phis that carry one value on all paths, through cycles of phis too, by copies of it. Deletes phis
/// that only feed each other, with their steps. A phi that is undefined on one path is kept: the value need not be
/// available there.
bool oriRemoveRedundantMultiDefMov(ori::Function& function, PhaseContext& context) {
  if (!function.ssa) return false;
  const bool isReplaced = replaceSingleSources(function, context);
  static constexpr RuleTable kRules{propagateCopies};
  if (isReplaced) Rewriter(function).run(kRules, context.knobs.get(Knob::GeneralOptimizeMaxRounds));
  return dropDeadCycles(function, context) || isReplaced;
}

} // namespace orias::phases

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/ssa.h"
#include "phases/joined_ops.h"
#include "phases/local_scan.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// The most instructions between a value and its only reader that are examined.
constexpr unsigned kFarthest = 64;
/// The most instructions after the last reader of a register that are examined for a further reader.
constexpr unsigned kFarthestEnd = 512;
/// Limits for searching a register's uses through its reference list: references in all, and those in the block.
constexpr unsigned kMaxRefs = 64, kMaxOthers = 8;

/// One or two words selected by one condition: where it holds, a value computed for this only, else another value,
/// which is dead afterwards.
struct Choice {
  Instr* def;                   ///< computes the value
  Instr* first;                 ///< the select of the value's only or low word
  Instr* second;                ///< the select of the high word, or null
  Operand result, other, value; ///< as wide as the value
  Operand condition;            ///< when the value is selected
};

class Peepholes {
 public:
  Peepholes(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()), vregCount_(function.vregCount()),
        joinsPairs_(mayJoinPairs(function, context)),
        hasFloatLimits_(isa::existsOn(context.target, Op::FMNMX3, isa::makeInst(Op::FMNMX3).mods)) {}

  bool run() {
    bool changed = false;
    for (ori::Block* block : function_.layout())
      for (Instr* instr = block->last; instr; instr = instr->prev) {
        changed |= joinWithSource(function_, context_, *instr, joinsPairs_);
        if (instr->op != Op::SEL && !isLimit(*instr) && instr->op != Op::ATOMS) continue;
        if (!liveness_) liveness_ = &function_.analyses().liveness();
        if (instr->op == Op::SEL) {
          Instr* guarded = guardInsteadOfChoice(*instr);
          changed |= guarded != nullptr;
          if (guarded) instr = guarded; // replaces the select
        } else if (isLimit(*instr)) {
          changed |= joinLimits(*instr);
        } else if (instr->op == Op::ATOMS) {
          changed |= countLanes(*instr);
        }
      }
    return changed;
  }

 private:
  /// The only definition of a value whose other references are all reads, earlier in the block of `reader`.
  Instr* ownDef(const Operand& value, const Instr& reader, std::size_t names) const {
    if (!isPlainRegister(value) || !value.isReg(File::R)) return nullptr;
    // Counted first: some registers have very many references.
    if (countRefs(function_, function_.use(value.reg), names) != names) return nullptr;
    Instr* def = function_.singleDef(value.reg);
    return def && def->block == reader.block && !def->isGuarded() ? def : nullptr;
  }

  // --- guarded definitions instead of selects

  /// Matches SEL x, value, other, p, where `value` is computed for it alone and `other` dies here. Keeps the other
  /// value, and computes the value over it under guard p. This saves the select, and the computation where no lane
  /// needs it. Returns the instruction that replaces the select, or null.
  Instr* guardInsteadOfChoice(Instr& select) {
    for (bool wantsFirst : {true, false}) {
      const std::optional<Choice> choice = choiceOf(select, wantsFirst);
      if (!choice || !isSafe(*choice)) continue;
      context_.remarks.applied(&select, "replaced a select with a guarded instruction", choice->second ? 2 : 1);
      apply(*choice);
      return choice->def;
    }
    return nullptr;
  }

  std::optional<Choice> choiceOf(Instr& select, bool wantsFirst) const {
    const Operand value = select.op_(wantsFirst ? 1 : 2).value(), other = select.op_(wantsFirst ? 2 : 1).value();
    const Operand result = select.op_(0).value(), p = select.op_(3).value();
    if (select.isGuarded() || !isPlainRegister(result) || !isPlainRegister(value) || !isPlainRegister(other))
      return std::nullopt;
    if (!p.isReg(File::P) || !p.isVirtual()) return std::nullopt;
    const Operand condition = wantsFirst ? p : p.notted();
    const unsigned width = function_.vreg(value.reg).width;
    if (width == 1) {
      Instr* def = ownDef(value, select, 2);
      if (!def) return std::nullopt;
      return Choice{def, &select, nullptr, result, other, value, condition};
    }
    // The last of two selects, of either word.
    if (width != 2) return std::nullopt;
    Instr* def = ownDef(value, select, 3);
    if (!def) return std::nullopt;
    Operand sibling = value;
    sibling.sub = static_cast<std::uint8_t>(1 - value.sub);
    Instr* twin = nullptr;
    for (const ori::Ref o : function_.refs(value.reg))
      if (!o->isDef && o->value() == sibling) twin = o.owner;
    if (!twin || twin->op != Op::SEL || twin->isGuarded() || twin->block != select.block) return std::nullopt;
    if (twin->op_(wantsFirst ? 1 : 2).value() != sibling || twin->op_(3).value() != p) return std::nullopt;
    const bool isHigh = value.sub == 1;
    const Operand twinResult = twin->op_(0).value(), twinOther = twin->op_(wantsFirst ? 2 : 1).value();
    const auto pair = pairOf(isHigh ? twinResult : result, isHigh ? result : twinResult);
    const auto others = pairOf(isHigh ? twinOther : other, isHigh ? other : twinOther);
    if (!pair || !others || !isAlone(*twin, select, *pair, *others, p)) return std::nullopt;
    return Choice{def, &select, twin, *pair, *others, function_.use(value.reg), condition};
  }

  /// The register pair that two words form, if they are adjacent.
  std::optional<Operand> pairOf(const Operand& low, const Operand& high) const {
    if (!isPlainRegister(low) || !isPlainRegister(high) || low.reg != high.reg || low.sub + 1 != high.sub)
      return std::nullopt;
    Operand pair = low;
    pair.width = 2;
    return isAlignedPart(function_, pair) ? std::optional(pair) : std::nullopt;
  }

  /// Whether no instruction between the two selects is affected when the first is delayed to the second.
  static bool isAlone(const Instr& first, const Instr& last, const Operand& result, const Operand& other,
                      const Operand& condition) {
    unsigned left = kFarthest;
    for (const Instr* i = first.next; i != &last; i = i->next) {
      if (!i || left-- == 0) return false;
      if (reads(*i, result) || writes(*i, result) || writes(*i, other) || writes(*i, condition)) return false;
    }
    return true;
  }

  bool isSafe(const Choice& choice) {
    const Instr& def = *choice.def;
    const auto reportMissed = [&](const char* why) {
      context_.remarks.missed(choice.first, std::string("select not replaced: ") + why);
      return false;
    };
    const bool isSame = choice.result == choice.other;
    if (isa::desc(def.op).has(Flag::Copy) || speculationOf(function_, def) != Speculation::Free ||
        !givesOnly(def, choice))
      return reportMissed("its operand has no definition of its own");
    if (!isSame && !areAlike(choice.result, choice.other)) return reportMissed("its operands are different components");
    if (!isSame && overlap(choice.result, choice.other)) return reportMissed("its operands are different components");
    if (!isSame && (reads(def, choice.result) || isLiveAfter(*choice.first, choice.other)))
      return reportMissed("the other operand is live after it");
    if (!hasSameResultAt(def, *choice.first, kFarthest)) return reportMissed("a source of the operand is overwritten");
    return true;
  }

  static bool givesOnly(const Instr& def, const Choice& choice) {
    bool isAll = false;
    for (const ori::Operand& o : def.ops()) {
      if (!o.isDef || o.isNone() || o.isZeroReg()) continue;
      if (o.value() != choice.value) return false;
      isAll = true;
    }
    return isAll;
  }

  /// Whether the two registers can become one.
  bool areAlike(const Operand& a, const Operand& b) const {
    return a.sub == b.sub && function_.vreg(a.reg).width == function_.vreg(b.reg).width;
  }

  /// Whether a part of the register may be read after the instruction, in the current code.
  bool isLiveAfter(const Instr& instr, const Operand& reg) const {
    const std::optional<std::vector<const Instr*>> others = othersThatName(reg.reg, instr);
    const auto names = [&](const Instr& other) {
      return others ? std::ranges::find(*others, &other) != others->end()
                    : std::ranges::any_of(other.refs(), [&](const ori::Operand& o) { return o.reg == reg.reg; });
    };
    // Registers created by this phase are not in the snapshot; none of them is live across blocks.
    for (unsigned k = 0; k < reg.width; ++k) {
      const Operand word = function_.part(reg.reg, reg.sub + k);
      bool ends = false;
      unsigned left = kFarthestEnd;
      for (const Instr* i = instr.next; i && !ends; i = i->next) {
        if (left-- == 0) return true;
        if (!names(*i)) continue;
        if (reads(*i, word)) return true;
        ends = writes(*i, word) && !i->isGuarded();
      }
      if (!ends && (reg.reg >= vregCount_ ||
                    liveness_->isLiveOut(instr.block->id, liveness_->components().of(reg.reg, reg.sub + k))))
        return true;
    }
    return false;
  }

  /// The other instructions of the block that refer to a register, if they are few and easily found.
  std::optional<std::vector<const Instr*>> othersThatName(ori::VRegId reg, const Instr& instr) const {
    std::vector<const Instr*> others;
    unsigned left = kMaxRefs;
    for (const ori::Ref o : function_.refs(reg)) {
      if (left-- == 0 || others.size() == kMaxOthers) return std::nullopt;
      if (o.owner != &instr && o.owner->block == instr.block) others.push_back(o.owner);
    }
    return others;
  }

  void apply(const Choice& choice) {
    Instr& def = *choice.def;
    ori::Builder b = ori::Builder::before(function_, choice.first);
    b.setSource(choice.first->source);
    if (choice.result != choice.other) b.copy(choice.result, choice.other);
    for (unsigned i = 0; i < def.operandCount; ++i)
      if (def.op_(i).isDef && def.op_(i).value() == choice.value) function_.setOperand(&def, i, choice.result);
    function_.unlink(&def);
    function_.insertBefore(choice.first, &def);
    function_.setGuard(&def, choice.condition);
    if (choice.second) function_.erase(choice.second);
    function_.erase(choice.first);
  }

  // --- minimum and maximum

  bool isLimit(const Instr& instr) const {
    return instr.op == Op::VIMNMX || (instr.op == Op::FMNMX && hasFloatLimits_);
  }

  /// Joins the minimum (or maximum) of two values, and of that and a third, into one operation. ptxas joins those of
  /// floats, too (observed).
  bool joinLimits(Instr& outer) {
    constexpr unsigned kA = 1, kB = 2, kKind = 3;
    const bool isFloat = outer.op == Op::FMNMX;
    const Op three = isFloat ? Op::FMNMX3 : Op::VIMNMX3;
    for (unsigned slot : {kA, kB}) {
      const Operand inner = outer.op_(slot).value();
      Instr* def = ownDef(inner, outer, 2);
      if (!def || def->op != outer.op || function_.vreg(inner.reg).width != 1) continue;
      if (def->op_(kKind).value() != outer.op_(kKind).value() || !outer.op_(kKind).isZeroReg()) continue;
      if (def->mods != outer.mods || isa::getMod(outer.op, outer.mods, isFloat ? Mod::XorSign : Mod::Relu) != 0)
        continue;
      if (!hasSameResultAt(*def, outer, kFarthest)) continue;
      Operand a = def->op_(kA).value(), b = def->op_(kB).value(), c = outer.op_(slot == kA ? kB : kA).value();
      if (!c.isReg()) std::swap(b, c);
      auto mods = isa::makeInst(three).mods;
      for (const Mod mod : {Mod::Type, Mod::Ftz, Mod::Nan})
        if (isa::desc(three).modIndex(mod) >= 0)
          isa::setMod(three, mods, {mod, isa::getMod(outer.op, outer.mods, mod)});
      if (!isa::existsOn(context_.target, three, mods)) return false;
      const Operand operands[] = {outer.op_(0).value(), a, b, c, outer.op_(kKind).value()};
      if (!isa::fits(three, mods, operands)) {
        context_.remarks.missed(&outer, "min/max not combined: one instruction cannot hold both constants");
        continue;
      }
      context_.remarks.applied(&outer, "combined two min/max operations");
      function_.rewrite(&outer, three, operands);
      outer.mods = mods;
      function_.erase(def);
      return true;
    }
    return false;
  }

  // --- atomics

  /// Replaces an addition of 1 to a word of shared memory, whose result is unused, by a form that needs no register for
  /// the 1.
  bool countLanes(Instr& atomic) {
    constexpr unsigned kAddress = 1, kUniform = 2, kOffset = 3, kAddend = 4;
    constexpr unsigned kWordTypes = 2; // U32 and S32
    const Operand addend = atomic.op_(kAddend).value();
    const Operand result = atomic.op_(0).value();
    const bool isRead = !result.isZeroReg() && (!result.isVirtual() || function_.hasUses(result.reg));
    if (isa::modAs<isa::AtomOp>(atomic, Mod::AtomOp) != isa::AtomOp::ADD || isRead) return false;
    if (isa::getMod(atomic.op, atomic.mods, Mod::AtomType) >= kWordTypes || !addend.isVirtual()) return false;
    const Instr* def = function_.singleDef(addend.reg);
    if (!def || (def->op != Op::COPY && def->op != Op::MOV)) return false;
    if (const Operand& value = def->op_(1).value(); !value.isImm() || value.imm != 1) return false;
    auto mods = isa::makeInst(Op::ATOMS_POPC_INC).mods;
    for (unsigned i = 0; i < isa::desc(Op::ATOMS_POPC_INC).modCount; ++i) {
      const Mod kind = isa::desc(Op::ATOMS_POPC_INC).mods[i].kind;
      isa::setMod(Op::ATOMS_POPC_INC, mods, {kind, isa::getMod(atomic.op, atomic.mods, kind)});
    }
    if (!isa::existsOn(context_.target, Op::ATOMS_POPC_INC, mods)) return false;
    const Operand uniform = atomic.op_(kUniform).isNone() ? Operand::zero(File::UR) : atomic.op_(kUniform).value();
    const Operand operands[] = {Operand::rz(), atomic.op_(kAddress).value(), uniform, atomic.op_(kOffset).value()};
    if (!isa::fits(Op::ATOMS_POPC_INC, mods, operands)) return false;
    context_.remarks.applied(&atomic, "counts lanes instead of adding 1");
    function_.rewrite(&atomic, Op::ATOMS_POPC_INC, operands);
    atomic.mods = mods;
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::Liveness* liveness_ = nullptr; ///< of the original code
  const std::size_t vregCount_;
  const bool joinsPairs_;
  const bool hasFloatLimits_; ///< the chip has FMNMX3
};

} // namespace

/// Phase 75. Instruction selection that the general rules do not do, since it cannot be expressed in SSA form or does
/// not pay before everything is combined: guarded computations instead of selects, minimum and maximum of three,
/// counting in shared memory, and pairs of instructions that are one (joined_ops.h).
bool lateArchOptimizeFirst(ori::Function& function, PhaseContext& context) {
  bool changed = false;
  for (std::int64_t round = 0; round < context.knobs.get(Knob::LateArchMaxRounds); ++round) {
    if (!Peepholes(function, context).run()) break;
    // The copies before guarded operations; their sources end there.
    ori::coalesceCopies(function);
    changed = true;
  }
  return changed;
}

} // namespace orias::phases

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/module.h"
#include "phases/optimize/rule_table.h"
#include "phases/phases.h"

#include <optional>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

const Operand kNever = Operand::pt().notted();

/// A choice between two words: `yes` where the condition holds.
struct Choice {
  Operand yes, no, condition;
};

std::optional<Choice> choiceOf(const Instr& instr) {
  if (instr.op != Op::SEL || instr.isGuarded()) return std::nullopt;
  return Choice{instr.op_(1).value(), instr.op_(2).value(), instr.op_(3).value()};
}

/// A comparison of integers that is not combined with another condition.
struct Comparison {
  Operand a, b;
  isa::ICmp order;
  bool isSigned;
};

Operand plain(Operand o) {
  o.flags &= static_cast<std::uint8_t>(~Operand::kNot);
  return o;
}

class Replacer {
 public:
  Replacer(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), rewriter_(function),
        minMax_(context.target.has(isa::Capability::VectorMinMax) ? Op::VIMNMX : Op::IMNMX) {}

  bool run() {
    bool changed = false;
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block)
        changed |= replace(instr);
    // The operands of the choices may have become dead.
    if (changed) rewriter_.run(RuleTable({}), 1);
    return changed;
  }

 private:
  bool replace(Instr& instr) {
    if (const auto choice = choiceOf(instr))
      return chooseSmaller(instr, *choice) || clampFloat(instr, *choice) || chooseRemainder(instr, *choice) ||
             addCondition(instr, *choice) || magnitude(instr, *choice) || swapConstant(instr, *choice);
    return (instr.op == Op::IADD3 || instr.op == Op::IADD3_X) && !instr.isGuarded() && addChoice(instr);
  }

  /// The comparison that defines a condition. A negated condition gives the opposite comparison.
  std::optional<Comparison> comparisonOf(const Operand& condition) const {
    const Instr* compare = rewriter_.producer(plain(condition), Op::ISETP);
    if (!compare || compare->isGuarded()) return std::nullopt;
    const Operand other = compare->op_(4).value();
    if (!other.isZeroReg() || other.inverted() || isa::modAs<isa::BoolOp>(*compare, Mod::Bool) != isa::BoolOp::AND)
      return std::nullopt;
    const auto order = isa::modAs<isa::ICmp>(*compare, Mod::Cmp);
    return Comparison{compare->op_(2).value(), compare->op_(3).value(),
                      condition.inverted() ? isa::opposite(order) : order,
                      isa::modAs<isa::IntType>(*compare, Mod::Type) == isa::IntType::S32};
  }

  /// Whether both are the same word: the same unchanged register, or the same number.
  bool isSame(const Operand& a, const Operand& b) const {
    if (const auto number = rewriter_.constantOf(a)) return rewriter_.constantOf(b) == number;
    return a == b && rewriter_.isStable(a);
  }

  bool hasOtherReaders(const Instr& instr, const Operand& condition) const {
    if (rewriter_.hasOneUse(condition)) return false;
    context_.remarks.missed(&instr, "select not replaced: its comparison has other uses");
    return true;
  }

  static bool isSmaller(isa::ICmp order) { return order == isa::ICmp::LT || order == isa::ICmp::LE; }
  static bool isLarger(isa::ICmp order) { return order == isa::ICmp::GT || order == isa::ICmp::GE; }

  /// The limit up to which (from which on) `order` to `number` holds, in the comparison's signedness.
  static std::int64_t limit(isa::ICmp order, std::uint32_t number, bool isSigned) {
    const std::int64_t value = asNumber(number, isSigned);
    return order == isa::ICmp::LT ? value - 1 : order == isa::ICmp::GT ? value + 1 : value;
  }
  static std::int64_t asNumber(std::uint32_t bits, bool isSigned) {
    return isSigned ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits);
  }

  /// Matches a < b ? a : b and variants; also x < 11 ? x : 10.
  bool chooseSmaller(Instr& instr, const Choice& choice) {
    const auto compared = comparisonOf(choice.condition);
    if (!compared || (!isSmaller(compared->order) && !isLarger(compared->order))) return false;
    bool isMinimum = isSmaller(compared->order);
    if (isSame(choice.yes, compared->b) && isSame(choice.no, compared->a)) {
      isMinimum = !isMinimum;
    } else if (!isSame(choice.yes, compared->a) || !isSame(choice.no, compared->b)) {
      // One of the two values is a number adjacent to that of the comparison.
      const auto number = rewriter_.constantOf(compared->b);
      const bool choosesValue = isSame(choice.yes, compared->a);
      const Operand& rest = choosesValue ? choice.no : choice.yes;
      const auto chosen = rewriter_.constantOf(rest);
      if (!number || !chosen || (!choosesValue && !isSame(choice.no, compared->a))) return false;
      const std::int64_t at = limit(compared->order, *number, compared->isSigned);
      const std::int64_t bound = asNumber(*chosen, compared->isSigned);
      if (at != bound && at != (isMinimum ? bound - 1 : bound + 1)) return false;
      isMinimum = isMinimum == choosesValue;
    }
    if (hasOtherReaders(instr, choice.condition)) return false;
    context_.remarks.applied(&instr, isMinimum ? "replaced a comparison and a select with a minimum"
                                               : "replaced a comparison and a select with a maximum");
    becomeMinMax(instr, choice.yes, choice.no, isMinimum, compared->isSigned);
    return true;
  }

  /// Operands of an FMNMX that replaces a select between an f32 and the constant that it is compared with.
  struct FloatClamp {
    Operand value;
    std::uint32_t bound = 0;
    bool isMinimum = false;
    bool keepsNan = false; ///< the result is `value`, not `bound`, if `value` is NaN
  };

  /// Matches x < 1.0 ? 1.0 : x and variants. The two zeros compare equal, but FMNMX distinguishes them.
  std::optional<FloatClamp> clampOf(const Choice& choice) const {
    const Instr* compare = rewriter_.producer(plain(choice.condition), Op::FSETP);
    if (!compare || compare->isGuarded()) return std::nullopt;
    const Operand other = compare->op_(4).value();
    if (!other.isZeroReg() || other.inverted() || isa::modAs<isa::BoolOp>(*compare, Mod::Bool) != isa::BoolOp::AND)
      return std::nullopt;
    const Operand value = compare->op_(2).value();
    const auto bound = rewriter_.constantOf(compare->op_(3).value());
    if (!value.isReg(File::R) || !value.isVirtual() || value.neg() || value.abs() || !bound) return std::nullopt;
    const std::uint32_t magnitude = *bound & 0x7fffffff;
    const bool isZero = magnitude == 0, isFlushed = isa::getMod(compare->op, compare->mods, Mod::Ftz) != 0;
    if (magnitude > 0x7f800000 || (isFlushed && magnitude < 0x00800000)) return std::nullopt;

    const bool takesValue = isSame(choice.yes, value) && rewriter_.constantOf(choice.no) == bound;
    if (!takesValue && (!isSame(choice.no, value) || rewriter_.constantOf(choice.yes) != bound)) return std::nullopt;
    const bool isInverted = choice.condition.inverted();
    // Which operand the condition, as compared, selects.
    const bool valueIfTrue = takesValue != isInverted;
    bool isLess = false, holdsIfEqual = false, holdsForNan = false;
    switch (isa::modAs<isa::FCmp>(*compare, Mod::Cmp)) {
    case isa::FCmp::LT: isLess = true; break;
    case isa::FCmp::LE: isLess = holdsIfEqual = true; break;
    case isa::FCmp::GT: break;
    case isa::FCmp::GE: holdsIfEqual = true; break;
    case isa::FCmp::LTU: isLess = holdsForNan = true; break;
    case isa::FCmp::LEU: isLess = holdsIfEqual = holdsForNan = true; break;
    case isa::FCmp::GTU: holdsForNan = true; break;
    case isa::FCmp::GEU: holdsIfEqual = holdsForNan = true; break;
    default: return std::nullopt;
    }
    FloatClamp clamp{value, *bound, isLess == valueIfTrue, valueIfTrue == holdsForNan};
    // Of two zeros, FMNMX gives the positive one as the maximum and the negative one as the minimum.
    const bool valueIfEqual = valueIfTrue == holdsIfEqual, isNegativeZero = *bound != 0;
    if (isZero && valueIfEqual != (clamp.isMinimum != isNegativeZero)) return std::nullopt;
    return clamp;
  }

  /// A select copies the bits of a NaN; FMNMX returns the canonical NaN. Where the bits may differ, all uses must be
  /// operations that treat all NaNs alike.
  bool mayChangeNan(const Instr& instr, const Operand& value, unsigned depth = 0) const {
    const Definition made = rewriter_.definition(value);
    if (made && computesFloat(made.instr->op)) return true;
    const Operand result = instr.op_(0).value();
    if (depth == kMaxClamps || !result.isVirtual() || !rewriter_.isSingle(result.reg)) return false;
    bool isHidden = true;
    function_.forEachUse(result.reg, [&](ori::Ref use) {
      const Instr& user = *use.owner;
      if (computesFloat(user.op) || user.op == Op::FSETP || user.op == Op::F2I) return;
      const auto choice = choiceOf(user);
      const auto clamp = choice ? clampOf(*choice) : std::nullopt;
      isHidden &= clamp && isSame(clamp->value, result) && mayChangeNan(user, clamp->value, depth + 1);
    });
    return isHidden;
  }
  static bool computesFloat(Op op) {
    return op == Op::FADD || op == Op::FMUL || op == Op::FFMA || op == Op::FMNMX || op == Op::FRND;
  }
  static constexpr unsigned kMaxClamps = 8; ///< in a chain

  bool clampFloat(Instr& instr, const Choice& choice) {
    const auto clamp = clampOf(choice);
    if (!clamp || (clamp->keepsNan && !mayChangeNan(instr, clamp->value))) return false;
    auto mods = isa::makeInst(Op::FMNMX).mods;
    isa::setMod(Op::FMNMX, mods, {Mod::Nan, clamp->keepsNan});
    if (!isa::existsOn(context_.target, Op::FMNMX, mods) || hasOtherReaders(instr, choice.condition)) return false;
    context_.remarks.applied(&instr, clamp->isMinimum
                                         ? "replaced a comparison and a select with a floating-point minimum"
                                         : "replaced a comparison and a select with a floating-point maximum");
    rewriter_.rewrite(instr, Op::FMNMX,
                      {instr.op_(0).value(), clamp->value, Operand::immediate(static_cast<std::int32_t>(clamp->bound)),
                       clamp->isMinimum ? Operand::pt() : kNever},
                      {{Mod::Nan, clamp->keepsNan}});
    return true;
  }

  /// Matches x >= y ? x - y : x for unsigned numbers: where x is smaller, the difference wraps around to more than x.
  bool chooseRemainder(Instr& instr, const Choice& choice) {
    const auto compared = comparisonOf(choice.condition);
    if (!compared || compared->isSigned) return false;
    const bool isReduced = compared->order == isa::ICmp::GE;
    if (!isReduced && compared->order != isa::ICmp::LT) return false;
    const Operand &difference = isReduced ? choice.yes : choice.no, &value = isReduced ? choice.no : choice.yes;
    const Instr* sum = sumOf(difference);
    if (!sum || !isSame(value, compared->a) || !value.isReg(File::R)) return false;
    bool hasValue = false, hasOther = false;
    for (unsigned i = 3; i < 6; ++i) {
      const Operand term = sum->op_(i).value();
      if (!hasValue && isSame(term, value))
        hasValue = true;
      else if (!hasOther && isNegative(term, compared->b))
        hasOther = true;
      else if (rewriter_.constantOf(term) != 0u)
        return false;
    }
    if (!hasValue || !hasOther || hasOtherReaders(instr, choice.condition)) return false;
    context_.remarks.applied(&instr, "replaced a reduced remainder with a minimum");
    becomeMinMax(instr, value, difference, true, false);
    return true;
  }

  /// Whether `term` is -y, where y is the compared value, a number or a register.
  bool isNegative(const Operand& term, const Operand& y) const {
    if (term.neg()) {
      Operand positive = term;
      positive.flags &= static_cast<std::uint8_t>(~Operand::kNeg);
      return isSame(positive, y);
    }
    const auto a = rewriter_.constantOf(term), b = rewriter_.constantOf(y);
    // y = 0 would make no difference, and x would be the larger of two equal numbers.
    return a && b && *a == 0u - *b && *b != 0;
  }

  void becomeMinMax(Instr& instr, const Operand& a, const Operand& b, bool isMinimum, bool isSigned) {
    rewriter_.rewrite(instr, minMax_, {instr.op_(0).value(), a, b, isMinimum ? Operand::pt() : kNever},
                      {{Mod::Type, isSigned ? isa::IntType::S32 : isa::IntType::U32}});
  }

  /// A sum without carries.
  const Instr* sumOf(const Operand& word) const {
    const Instr* sum = rewriter_.producer(word, Op::IADD3);
    return sum && !sum->isGuarded() && isUnused(sum->op_(1).value()) && isUnused(sum->op_(2).value()) ? sum : nullptr;
  }

  /// x + 1 where the condition holds, else x: the condition becomes a carry. Likewise x - 1.
  bool addCondition(Instr& instr, const Choice& choice) {
    for (const bool isOnYes : {true, false}) {
      const Operand &sum = isOnYes ? choice.yes : choice.no, &value = isOnYes ? choice.no : choice.yes;
      if (!sum.isReg(File::R) || !sum.isVirtual() || !value.isReg(File::R) || value.isZeroReg()) continue;
      const Instr* add = sumOf(sum);
      if (!add || !rewriter_.hasOneUse(sum)) continue;
      const auto step = stepFrom(*add, value);
      if (!step || (*step != 1 && *step != ~0u)) continue;
      context_.remarks.applied(&instr, "combined an addition and a select into an addition with carry");
      addCarry(instr, value, Operand::rz(), *step == 1, isOnYes ? choice.condition : choice.condition.notted());
      return true;
    }
    return false;
  }

  /// The number that a sum adds to a value; nothing when the sum has another form.
  std::optional<std::uint32_t> stepFrom(const Instr& add, const Operand& value) const {
    std::uint32_t step = 0;
    bool hasValue = false;
    for (unsigned i = 3; i < 6; ++i) {
      const Operand term = add.op_(i).value();
      if (!hasValue && isSame(term, value))
        hasValue = true;
      else if (const auto number = rewriter_.constantOf(term))
        step += *number;
      else
        return std::nullopt;
    }
    return hasValue ? std::optional(step) : std::nullopt;
  }

  /// Emits the sum of two words, plus (or minus) one where the condition holds. Minus one is plus all ones and the
  /// inverted carry.
  void addCarry(Instr& instr, const Operand& a, const Operand& b, bool isMore, const Operand& condition) {
    const Operand result = instr.op_(0).value();
    if (isMore)
      rewriter_.rewrite(instr, Op::IADD3_X,
                        {result, Operand::pt(), Operand::pt(), a, b, Operand::rz(), condition, kNever});
    else
      rewriter_.rewrite(
          instr, Op::IADD3_X,
          {result, Operand::pt(), Operand::pt(), a, Operand::immediate(-1), b, condition.notted(), kNever});
  }

  /// The carries into a sum.
  static std::vector<Operand> carriesOf(const Instr& sum) {
    std::vector<Operand> carries;
    for (unsigned i = 6; sum.op == Op::IADD3_X && i < 8; ++i)
      if (const Operand carry = sum.op_(i).value(); carry != kNever) carries.push_back(carry);
    return carries;
  }

  /// Folds a choice between 0 and 1, or 0 and -1, into the sum that is its only user. A sum with carries out takes one
  /// more carry in, but not a borrow.
  bool addChoice(Instr& instr) {
    const bool hasCarryOut = !isUnused(instr.op_(1).value());
    const std::vector<Operand> carries = carriesOf(instr);
    if (!isUnused(instr.op_(2).value()) || carries.size() > 1) return false;
    for (unsigned i = 3; i < 6; ++i) {
      Operand term = instr.op_(i).value();
      if (!term.isReg(File::R) || !term.isVirtual() || term.inverted() || !rewriter_.hasOneUse(term)) continue;
      const bool isTaken = term.neg();
      term.flags &= static_cast<std::uint8_t>(~Operand::kNeg);
      const Instr* select = rewriter_.producer(term, Op::SEL);
      const auto choice = select ? choiceOf(*select) : std::nullopt;
      if (!choice || !rewriter_.isStable(choice->condition)) continue;
      const auto yes = rewriter_.constantOf(choice->yes), no = rewriter_.constantOf(choice->no);
      if (!yes || !no || (*yes != 0) == (*no != 0)) continue;
      const std::uint32_t step = isTaken ? 0u - (*yes | *no) : *yes | *no;
      if (step != 1 && step != ~0u) continue;
      if (step != 1 && (hasCarryOut || !carries.empty())) continue;
      // The negation of a term uses a carry, too.
      if (hasCarryOut && isTaken) continue;
      Operand rest[2];
      for (unsigned k = 3, n = 0; k < 6; ++k)
        if (k != i) rest[n++] = instr.op_(k).value();
      // The register comes first. Terms of a sum with carry cannot be negated.
      if (!rest[0].isReg(File::R) || rest[0].isZeroReg()) std::swap(rest[0], rest[1]);
      if (!rest[0].isReg(File::R) || rest[0].neg() || rest[1].neg()) continue;
      if (step != 1 && !rest[1].isReg(File::R)) continue;
      context_.remarks.applied(&instr, "combined an addition of a select into an addition with carry");
      const Operand condition = *yes != 0 ? choice->condition : choice->condition.notted();
      if (step == 1)
        rewriter_.rewrite(instr, Op::IADD3_X,
                          {instr.op_(0).value(), instr.op_(1).value(), Operand::pt(), rest[0], rest[1], Operand::rz(),
                           condition, carries.empty() ? kNever : carries[0]});
      else
        addCarry(instr, rest[0], rest[1], false, condition);
      return true;
    }
    return false;
  }

  /// Matches x < 0 ? -x : x.
  bool magnitude(Instr& instr, const Choice& choice) {
    const auto compared = comparisonOf(choice.condition);
    if (!compared || !compared->isSigned) return false;
    const auto number = rewriter_.constantOf(compared->b);
    if (!number || (!isSmaller(compared->order) && !isLarger(compared->order))) return false;
    const bool isNegated = isSmaller(compared->order);
    const Operand &value = isNegated ? choice.no : choice.yes, &negated = isNegated ? choice.yes : choice.no;
    const std::int64_t at = limit(compared->order, *number, true);
    if (isNegated ? at != 0 && at != -1 : at != 0 && at != 1) return false;
    const Instr* sum = sumOf(negated);
    if (!sum || !value.isReg(File::R) || !isSame(value, compared->a)) return false;
    bool hasValue = false;
    for (unsigned i = 3; i < 6; ++i) {
      const Operand term = sum->op_(i).value();
      if (!hasValue && term.neg() && isNegative(term, value))
        hasValue = true;
      else if (rewriter_.constantOf(term) != 0u)
        return false;
    }
    if (!hasValue || hasOtherReaders(instr, choice.condition)) return false;
    context_.remarks.applied(&instr, "replaced a comparison and a select with an absolute value");
    rewriter_.rewrite(instr, Op::IABS, {instr.op_(0).value(), value});
    return true;
  }

  /// Moves a number to the second source, which needs no register for it.
  bool swapConstant(Instr& instr, const Choice& choice) {
    if (!choice.yes.isReg(File::R) || !choice.yes.isVirtual() || !choice.no.isReg(File::R)) return false;
    const auto number = rewriter_.constantOf(choice.yes);
    if (!number || !rewriter_.hasOneUse(choice.yes)) return false;
    context_.remarks.applied(&instr, "replaced the constant of a select with its other operand");
    rewriter_.rewrite(instr, Op::SEL,
                      {instr.op_(0).value(), choice.no, Operand::immediate(static_cast<std::int32_t>(*number)),
                       choice.condition.notted()});
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  Rewriter rewriter_;
  const Op minMax_;
};

/// Whether there are choices to replace. Most functions have none and need no definitions analysis.
bool hasSelects(const ori::Function& function) {
  if (!function.everHad(Op::SEL)) return false;
  for (const ori::Block* block : function.layout())
    for (const Instr& instr : *block)
      if (instr.op == Op::SEL) return true;
  return false;
}

} // namespace

/// Phase 31. Replaces comparisons and selects, which phase 63 and the expansion of divisions produce, by single
/// operations: minimum, maximum, absolute value, the last step of a remainder, and sums that take a condition as their
/// carry (x + 1 or x; counting conditions). A select whose comparison has other users is kept where nothing would be
/// saved.
bool oriLinearReplacement(ori::Function& function, PhaseContext& context) {
  return function.ssa && hasSelects(function) && Replacer(function, context).run();
}

} // namespace orias::phases

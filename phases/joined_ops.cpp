#include "phases/joined_ops.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/local_scan.h"
#include "phases/optimize/rewriter.h"
#include "phases/remarks.h"

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// How many instructions between a value and its only reader are examined.
constexpr unsigned kFarthest = 64;
/// Types of VIMNMX.
constexpr unsigned kSignedWord = 1;

class Joiner {
 public:
  Joiner(ori::Function& function, PhaseContext& context, Instr& outer, bool joinsPairs)
      : function_(function), context_(context), outer_(outer), joinsPairs_(joinsPairs) {}

  bool run() {
    switch (outer_.op) {
    case Op::IADD3:
    case Op::UIADD3: return isPlainSum(outer_) && addShifted(addends(outer_), outer_.op_(0).value());
    case Op::LOP3:
      return isPlainOr(outer_) && addShifted({outer_.op_(2).value(), outer_.op_(3).value()}, outer_.op_(1).value());
    case Op::IADD3_X: return addSign() || (joinsPairs_ && addPairs());
    case Op::LEA_HI_X: return addScaledSign();
    case Op::ISETP_EX: return joinsPairs_ && comparePairs();
    case Op::SEL: return joinsPairs_ && choosePairs();
    case Op::VIMNMX: return limitFromBelow() || addAndLimit();
    default: return false;
    }
  }

 private:
  /// The definition of a word that only this instruction uses, if it is earlier in the same block and could run here.
  Instr* ownDef(const Operand& value, File file = File::R) const {
    if (!isPlainRegister(value, file) || function_.vreg(value.reg).width != 1) return nullptr;
    constexpr std::size_t kNames = 2; // its definition and this use
    if (countRefs(function_, function_.use(value.reg), kNames) != kNames) return nullptr;
    Instr* def = function_.singleDef(value.reg);
    if (!def || def->block != outer_.block || def->isGuarded()) return nullptr;
    return hasSameResultAt(*def, outer_, kFarthest) ? def : nullptr;
  }

  bool become(Op op, std::span<const Operand> operands, std::initializer_list<isa::ModValue> values, Instr* inner,
              const char* what) {
    auto mods = isa::makeInst(op).mods;
    for (const isa::ModValue& value : values)
      isa::setMod(op, mods, value);
    if (!isa::existsOn(context_.target, op, mods) || !isa::fits(op, mods, operands)) return false;
    context_.remarks.applied(&outer_, what);
    function_.rewrite(&outer_, op, operands);
    outer_.mods = mods;
    function_.erase(inner);
    return true;
  }

  static bool isPlainSum(const Instr& instr) {
    return (instr.op == Op::IADD3 || instr.op == Op::UIADD3) && isUnused(instr.op_(1).value()) &&
           isUnused(instr.op_(2).value());
  }

  /// Whether this is x | constant or x ^ constant.
  static bool isPlainOr(const Instr& instr) {
    constexpr int kOr = 0xfc, kXor = 0x3c;
    return instr.op == Op::LOP3 && isUnused(instr.op_(0).value()) && !instr.isGuarded() && instr.op_(3).isImm() &&
           instr.op_(4).isZeroReg() && (instr.op_(5).imm == kOr || instr.op_(5).imm == kXor);
  }

  static std::vector<Operand> addends(const Instr& sum) {
    std::vector<Operand> terms;
    for (unsigned i = 3; i < 6; ++i)
      if (!sum.op_(i).isZeroReg()) terms.push_back(sum.op_(i).value());
    return terms;
  }

  /// (x >> n) + y is the high word of (x << 32 - n) plus y, with the sign or zeros above x. (x >> n) | y is as well if
  /// y is a constant within the bits that the shift clears.
  bool addShifted(const std::vector<Operand>& terms, const Operand& result) {
    if (terms.size() == 3) return splitSum(terms);
    if (terms.size() != 2) return false;
    const bool isUniform = outer_.op == Op::UIADD3;
    const File file = isUniform ? File::UR : File::R;
    const Operand noCarry = Operand::zero(isUniform ? File::UP : File::P);
    for (unsigned i = 0; i < 2; ++i) {
      Instr* shift = ownDef(terms[i], file);
      if (shift && addFunnelShift(*shift, terms[1 - i], result)) return true;
      if (!shift || shift->op != (isUniform ? Op::USHF : Op::SHF) ||
          isa::getMod(shift->op, shift->mods, Mod::Hi) == 0 ||
          isa::modAs<isa::ShiftDir>(*shift, Mod::ShiftDir) != isa::ShiftDir::R)
        continue;
      const auto type = isa::modAs<isa::ShiftType>(*shift, Mod::ShiftType);
      const Operand value = shift->op_(3).value(), count = shift->op_(2).value();
      if (type != isa::ShiftType::S32 && type != isa::ShiftType::U32) continue;
      if (!shift->op_(1).isZeroReg() || !count.isImm() || count.imm < 1 || count.imm > 31) continue;
      if (!isPlainRegister(value, file)) continue;
      if (outer_.op == Op::LOP3 &&
          (type == isa::ShiftType::S32 || static_cast<std::uint32_t>(terms[1 - i].imm) << count.imm >> count.imm != 0))
        continue;
      const Operand left = Operand::immediate(32 - count.imm);
      const char* const what = "combined a shift and an addition";
      if (type == isa::ShiftType::S32) {
        const Operand operands[] = {result, noCarry, value, terms[1 - i], left};
        if (become(isUniform ? Op::ULEA_HI_SX32 : Op::LEA_HI_SX32, operands, {}, shift, what)) return true;
      } else {
        const Operand operands[] = {result, noCarry, value, terms[1 - i], Operand::zero(file), left};
        if (become(isUniform ? Op::ULEA_HI : Op::LEA_HI, operands, {}, shift, what)) return true;
      }
    }
    return false;
  }

  /// The count of a shift whose result is the high word of a pair that is shifted to the left.
  static std::optional<Operand> funnelCount(const Instr& shift) {
    if (shift.op != Op::SHF || isa::modAs<isa::ShiftType>(shift, Mod::ShiftType) != isa::ShiftType::U32)
      return std::nullopt;
    const bool isLeft = isa::modAs<isa::ShiftDir>(shift, Mod::ShiftDir) == isa::ShiftDir::L;
    if (isLeft != (isa::getMod(shift.op, shift.mods, Mod::Hi) != 0)) return std::nullopt;
    const Operand low = shift.op_(1).value(), count = shift.op_(2).value(), high = shift.op_(3).value();
    if (!count.isImm() || count.imm < 1 || count.imm > 31 || !isPlainRegister(low) || !isPlainRegister(high))
      return std::nullopt;
    return Operand::immediate(isLeft ? count.imm : 32 - count.imm);
  }

  /// A word of a shifted pair, or a rotated word, plus y: the high word of the pair shifted to the left.
  bool addFunnelShift(Instr& shift, const Operand& addend, const Operand& result) {
    const std::optional<Operand> left = funnelCount(shift);
    if (!left || outer_.op != Op::IADD3) return false;
    const Operand operands[] = {result, Operand::pt(), shift.op_(1).value(), addend, shift.op_(3).value(), *left};
    return become(Op::LEA_HI, operands, {}, &shift, "combined a funnel shift and an addition");
  }

  /// A rotated word plus two terms, as two sums, of which one includes the rotation. The other can use the multiplier,
  /// which a sum of three terms cannot. What is computed last is added last.
  bool splitSum(const std::vector<Operand>& terms) {
    if (outer_.op != Op::IADD3 || outer_.isGuarded()) return false;
    for (unsigned i = 0; i < 3; ++i) {
      const Instr* shift = ownDef(terms[i]);
      if (!shift || !funnelCount(*shift) || shift->op_(1).value() != shift->op_(3).value()) continue;
      Operand x = terms[(i + 1) % 3], y = terms[(i + 2) % 3];
      if (!x.isReg(File::R)) std::swap(x, y);
      const Operand last = lastWritten({x, y, shift->op_(1).value()});
      const bool isRotationLast = last != x && last != y;
      if (last == x) std::swap(x, y);
      ori::Builder b = ori::Builder::before(function_, &outer_);
      b.setSource(outer_.source);
      const Operand sum = b.newR(), none = Operand::pt(), result = outer_.op_(0).value();
      b.emit(Op::IADD3, {sum, none, none, isRotationLast ? x : terms[i], isRotationLast ? y : x});
      const Operand operands[] = {result, none, none, sum, isRotationLast ? terms[i] : y, Operand::zero(File::R)};
      function_.rewrite(&outer_, Op::IADD3, operands);
      return true;
    }
    return false;
  }

  /// The word that is written last before this instruction; the last of the list if all are written further away.
  Operand lastWritten(std::initializer_list<Operand> words) const {
    const Instr* at = outer_.prev;
    for (unsigned n = 0; at && n < kFarthest; ++n, at = at->prev)
      for (const Operand& word : words)
        if (writes(*at, word)) return word;
    return *(words.end() - 1);
  }

  /// The register whose sign fills this word, if it still has that value here, and the instruction that computes the
  /// sign.
  std::pair<Operand, Instr*> signSource(const Operand& word) const {
    if (!isPlainRegister(word) || !word.isReg(File::R)) return {};
    Instr* shift = function_.singleDef(word.reg);
    if (!shift || shift->op != Op::SHF || shift->block != outer_.block || shift->isGuarded()) return {};
    const ori::Operand& sign = shift->op_(0);
    if (sign.sub != word.sub || isa::getMod(shift->op, shift->mods, Mod::Hi) == 0) return {};
    const Operand value = shift->op_(3).value(), count = shift->op_(2).value();
    constexpr std::int32_t kSignBit = 31;
    if (isa::modAs<isa::ShiftDir>(*shift, Mod::ShiftDir) != isa::ShiftDir::R ||
        isa::modAs<isa::ShiftType>(*shift, Mod::ShiftType) != isa::ShiftType::S32 || !count.isImm() ||
        count.imm != kSignBit || !isPlainRegister(value) || !value.isReg(File::R))
      return {};
    return hasSameResultAt(*shift, outer_, kFarthest) ? std::pair{value, shift} : std::pair<Operand, Instr*>{};
  }

  /// Uses the sign of the word directly; the instruction that computed it is deleted with its last use.
  bool becomeSigned(const Operand& value, Instr* shift, const Operand& addend, const Operand& left,
                    const Operand& carry) {
    constexpr Op kOp = Op::LEA_HI_X_SX32;
    const Operand operands[] = {outer_.op_(0).value(), Operand::pt(), value, addend, left, carry};
    const auto mods = isa::makeInst(kOp).mods;
    if (!isa::existsOn(context_.target, kOp, mods) || !isa::fits(kOp, mods, operands)) return false;
    context_.remarks.applied(&outer_, "combined a sign extension and an addition");
    function_.rewrite(&outer_, kOp, operands);
    outer_.mods = mods;
    if (!function_.hasUses(shift->op_(0).reg)) function_.erase(shift);
    return true;
  }

  /// Joins the upper word of a 64-bit sum with a sign-extended word.
  bool addSign() {
    constexpr unsigned kCarry = 6, kSecondCarry = 7;
    if (!isUnused(outer_.op_(1).value()) || !isUnused(outer_.op_(2).value())) return false;
    const Operand second = outer_.op_(kSecondCarry).value();
    if (!second.isNone() && !(second.isZeroReg() && second.inverted())) return false;
    // Here the inverted zero register is a term: all ones.
    std::vector<Operand> terms;
    for (unsigned i = 3; i < 6; ++i)
      if (!outer_.op_(i).isZeroReg() || outer_.op_(i).inverted()) terms.push_back(outer_.op_(i).value());
    if (terms.size() > 2) return false;
    for (unsigned i = 0; i < terms.size(); ++i) {
      const auto [value, shift] = signSource(terms[i]);
      if (!shift) continue;
      const Operand other = terms.size() == 2 ? terms[1 - i] : Operand::rz();
      if (becomeSigned(value, shift, other, Operand::immediate(1), outer_.op_(kCarry).value())) return true;
    }
    return false;
  }

  /// Joins the upper word of a 64-bit sum with a scaled sign-extended word.
  bool addScaledSign() {
    constexpr unsigned kLow = 2, kAddend = 3, kHigh = 4, kLeft = 5, kCarry = 6;
    if (!isUnused(outer_.op_(1).value())) return false;
    const auto [value, shift] = signSource(outer_.op_(kHigh).value());
    return shift && value == outer_.op_(kLow).value() &&
           becomeSigned(value, shift, outer_.op_(kAddend).value(), outer_.op_(kLeft).value(),
                        outer_.op_(kCarry).value());
  }

  static constexpr unsigned kA = 1, kB = 2, kKind = 3;

  static bool isOfSignedWords(const Instr& limit) {
    return isa::getMod(limit.op, limit.mods, Mod::Type) == kSignedWord;
  }

  static bool isZero(const Operand& o) { return o.isZeroReg() || (o.isImm() && o.imm == 0); }

  /// max(min(a, b), 0), or min(max(a, 0), b) for a constant b that is not negative.
  bool limitFromBelow() {
    if (!isOfSignedWords(outer_) || isa::getMod(outer_.op, outer_.mods, Mod::Relu) != 0) return false;
    const Operand least = Operand::pt(), largest = Operand::pt().notted();
    for (unsigned slot : {kA, kB}) {
      const Operand other = outer_.op_(slot == kA ? kB : kA).value();
      const bool isLimit = outer_.op_(kKind).value() == largest && isZero(other);
      const bool isNumber = outer_.op_(kKind).value() == least && other.isImm() && other.imm >= 0;
      if (!isLimit && !isNumber) continue;
      Instr* inner = ownDef(outer_.op_(slot).value());
      if (!inner || inner->op != Op::VIMNMX || !isOfSignedWords(*inner)) continue;
      Operand a = inner->op_(kA).value(), b = inner->op_(kB).value(), kind = inner->op_(kKind).value();
      if (isNumber) {
        if (kind != largest || isa::getMod(inner->op, inner->mods, Mod::Relu) != 0) continue;
        if (isZero(a)) std::swap(a, b);
        if (!isZero(b)) continue;
        b = other;
        kind = least;
      }
      const Operand operands[] = {outer_.op_(0).value(), a, b, kind};
      if (become(Op::VIMNMX, operands, {{Mod::Type, kSignedWord}, {Mod::Relu, 1}}, inner, "limited to 0 at once"))
        return true;
    }
    return false;
  }

  /// A minimum or maximum of a sum. The sum wraps, as ptxas assumes.
  bool addAndLimit() {
    if (!isOfSignedWords(outer_)) return false;
    for (unsigned slot : {kA, kB}) {
      Instr* sum = ownDef(outer_.op_(slot).value());
      if (!sum || !isPlainSum(*sum)) continue;
      std::vector<Operand> terms = addends(*sum);
      if (terms.size() != 2) continue;
      const Operand limit = outer_.op_(slot == kA ? kB : kA).value();
      if (!terms[0].isReg(File::R) || terms[0].neg()) std::swap(terms[0], terms[1]);
      const Operand operands[] = {outer_.op_(0).value(), terms[0], terms[1], limit, outer_.op_(kKind).value()};
      if (become(Op::VIADDMNMX, operands,
                 {{Mod::Type, kSignedWord}, {Mod::Relu, isa::getMod(outer_.op, outer_.mods, Mod::Relu)}}, sum,
                 "combined an addition and a min/max"))
        return true;
    }
    return false;
  }

  // --- pairs of registers (sm_120)

  /// The pair operand for an operand of the low word and one of the high word; none if they do not form a pair. An
  /// operand that is negated in the low word is inverted in the high one.
  Operand pairOf(const Operand& low, const Operand& high) const {
    if (low.isImm() || low.isZeroReg())
      return high.isZeroReg() && !high.inverted() && !low.neg() && low.imm >= 0 ? low : Operand();
    const bool isPair = low.isVirtual() && high.isVirtual() && low.file == high.file && low.reg == high.reg &&
                        low.width == 1 && high.width == 1 && high.sub == low.sub + 1;
    if (!isPair || low.neg() != high.inverted()) return Operand();
    Operand pair = low;
    pair.width = 2;
    return isAlignedPart(function_, pair) ? pair : Operand();
  }

  /// The definition of a predicate that only this instruction uses, if it is earlier in the same block and the
  /// predicate is its first result.
  Instr* lowWordOf(const Operand& carry, Op op) const {
    constexpr std::size_t kNames = 2; // its definition and this use
    if (!carry.isVirtual() || carry.inverted() || outer_.isGuarded()) return nullptr;
    Instr* low = function_.singleDef(carry.reg);
    const bool isAlone = low && low->op == op && low->block == outer_.block && !low->isGuarded() &&
                         countRefs(function_, function_.use(carry.reg), kNames) == kNames;
    return isAlone && hasSameResultAt(*low, outer_, kFarthest) ? low : nullptr;
  }

  /// Joins both words of a sum of two pairs whose carry-out is unused.
  bool addPairs() {
    constexpr unsigned kCarry = 6, kSecondCarry = 7, kTerms = 3;
    const Operand carry = outer_.op_(kCarry).value(), second = outer_.op_(kSecondCarry).value();
    if (!isUnused(outer_.op_(1).value()) || !isUnused(outer_.op_(2).value()) ||
        !(second.isZeroReg() && second.inverted()))
      return false;
    Instr* low = lowWordOf(carry, Op::IADD3);
    if (!low || low->op_(1).value() != carry || !isUnused(low->op_(2).value())) return false;
    const Operand result = pairOf(low->op_(0).value(), outer_.op_(0).value());
    if (!result.isVirtual() || isNamedBetween(*low, result.reg)) return false;
    const ori::Operand &lowThird = low->op_(kTerms + 2), &highThird = outer_.op_(kTerms + 2);
    if (!lowThird.isZeroReg() || lowThird.neg() || !highThird.isZeroReg() || highThird.inverted()) return false;
    for (const auto& [a, b] : {std::pair(kTerms, kTerms + 1), std::pair(kTerms + 1, kTerms)}) {
      const Operand x = pairOf(low->op_(a).value(), outer_.op_(a).value()),
                    y = pairOf(low->op_(b).value(), outer_.op_(b).value());
      if (x.isNone() || y.isNone()) continue;
      const Operand operands[] = {result, Operand::pt(), x, y};
      if (become(Op::IADD_64, operands, {}, low, "added both words at once")) return true;
    }
    return false;
  }

  /// Joins a comparison of the low words and the comparison of the high words that continues it.
  bool comparePairs() {
    constexpr unsigned kOtherResult = 1, kLeft = 2, kRight = 3, kCondition = 4, kCarry = 5;
    Instr* low = lowWordOf(outer_.op_(kCarry).value(), Op::ISETP);
    if (!low || low->op_(0).value() != outer_.op_(kCarry).value() || !isUnused(low->op_(kOtherResult).value()) ||
        !low->op_(kCondition).isZeroReg() || low->op_(kCondition).inverted())
      return false;
    const auto how = isa::getMod(outer_.op, outer_.mods, Mod::Cmp);
    if (isa::getMod(low->op, low->mods, Mod::Cmp) != how || isa::getMod(outer_.op, outer_.mods, Mod::Ex) == 0 ||
        isa::modAs<isa::IntType>(*low, Mod::Type) != isa::IntType::U32 ||
        isa::modAs<isa::BoolOp>(*low, Mod::Bool) != isa::BoolOp::AND)
      return false;
    const Operand x = pairOf(low->op_(kLeft).value(), outer_.op_(kLeft).value()),
                  y = pairOf(low->op_(kRight).value(), outer_.op_(kRight).value());
    if (x.isNone() || y.isNone()) return false;
    const Operand operands[] = {outer_.op_(0).value(), outer_.op_(kOtherResult).value(), x, y,
                                outer_.op_(kCondition).value()};
    return become(Op::ISETP_64, operands,
                  {{Mod::Cmp, how},
                   {Mod::Type, isa::getMod(outer_.op, outer_.mods, Mod::Type)},
                   {Mod::Bool, isa::getMod(outer_.op, outer_.mods, Mod::Bool)}},
                  low, "compared both words at once");
  }

  /// Joins two selects of both words by one condition.
  bool choosePairs() {
    constexpr unsigned kCondition = 3;
    const Operand result = outer_.op_(0).value();
    if (!result.isVirtual() || outer_.isGuarded() || function_.vreg(result.reg).width < 2) return false;
    Instr* other = outer_.prev;
    for (unsigned n = 0; other && n < kFarthest && !names(*other, result.reg); ++n)
      other = other->prev;
    if (!other || other->op != Op::SEL || other->isGuarded() || !names(*other, result.reg)) return false;
    const bool isLow = result.sub % 2 == 0;
    const Instr &low = isLow ? outer_ : *other, &high = isLow ? *other : outer_;
    const Operand condition = outer_.op_(kCondition).value();
    const Operand pair = pairOf(low.op_(0).value(), high.op_(0).value());
    if (!pair.isVirtual() || other->op_(kCondition).value() != condition || !hasSameResultAt(*other, outer_, kFarthest))
      return false;
    const Operand x = pairOf(low.op_(1).value(), high.op_(1).value()),
                  y = pairOf(low.op_(2).value(), high.op_(2).value());
    if (x.isNone() || y.isNone()) return false;
    const Operand operands[] = {pair, x, y, condition}, turned[] = {pair, y, x, condition.notted()};
    constexpr const char* kWhat = "chose both words at once";
    return become(Op::SEL_64, operands, {}, other, kWhat) || become(Op::SEL_64, turned, {}, other, kWhat);
  }

  static bool names(const Instr& instr, ori::VRegId reg) {
    for (const ori::Operand& o : instr.refs())
      if (o.isVirtual() && o.reg == reg) return true;
    return false;
  }

  bool isNamedBetween(const Instr& first, ori::VRegId reg) const {
    for (const Instr* instr = first.next; instr != &outer_; instr = instr->next)
      if (names(*instr, reg)) return true;
    return false;
  }

  ori::Function& function_;
  PhaseContext& context_;
  Instr& outer_;
  const bool joinsPairs_;
};

} // namespace

bool mayJoinPairs(ori::Function& function, const PhaseContext& context) {
  // Pairs need adjacent registers for all words at the same time: avoid this where it might cause spills.
  constexpr unsigned kMaxLive = 208;
  return isa::existsOn(context.target, Op::IADD_64, isa::makeInst(Op::IADD_64).mods) &&
         function.analyses().pressure().maximum()[static_cast<std::size_t>(File::R)] <= kMaxLive;
}

bool joinWithSource(ori::Function& function, PhaseContext& context, Instr& instr, bool joinsPairs) {
  bool changed = false;
  while (Joiner(function, context, instr, joinsPairs).run())
    changed = true;
  return changed;
}

} // namespace orias::phases

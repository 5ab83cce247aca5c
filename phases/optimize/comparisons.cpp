// Folds comparisons whose result is known although their operands are not: of a value with itself, of disjoint ranges,
// and tests of known bits.

#include "encoder/isa/desc.h"
#include "phases/optimize/known_bits.h"
#include "phases/optimize/rewriter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace orias::phases {

using isa::BoolOp;
using isa::FCmp;
using isa::ICmp;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

std::optional<bool> ofEqualIntegers(ICmp comparison) {
  switch (comparison) {
  case ICmp::EQ:
  case ICmp::LE:
  case ICmp::GE:
  case ICmp::T: return true;
  default: return false;
  }
}

/// A value may be a NaN, which is unordered to itself: x < x is false, but x == x is unknown.
std::optional<bool> ofEqualFloats(FCmp comparison) {
  switch (comparison) {
  case FCmp::LT:
  case FCmp::GT:
  case FCmp::NE: return false;
  case FCmp::EQU:
  case FCmp::LEU:
  case FCmp::GEU: return true;
  default: return std::nullopt;
  }
}

/// The range as signed numbers.
std::pair<std::int64_t, std::int64_t> signedRange(const Range& range) {
  constexpr std::uint32_t kNegative = 1u << 31;
  constexpr std::int64_t kWrap = std::int64_t{1} << 32;
  if (range.most < kNegative) return {range.least, range.most};
  if (range.least >= kNegative) return {range.least - kWrap, range.most - kWrap};
  return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
}

/// The result of comparing any value of [a, b] with any value of [c, d], if it is always the same.
std::optional<bool> ofRanges(ICmp comparison, std::pair<std::int64_t, std::int64_t> left,
                             std::pair<std::int64_t, std::int64_t> right) {
  const bool isBelow = left.second<right.first, isAbove = left.first> right.second;
  const bool isNotAbove = left.second <= right.first, isNotBelow = left.first >= right.second;
  const auto decide = [](bool isTrue, bool isFalse) -> std::optional<bool> {
    if (isTrue || isFalse) return isTrue;
    return std::nullopt;
  };
  switch (comparison) {
  case ICmp::LT: return decide(isBelow, isNotBelow);
  case ICmp::LE: return decide(isNotAbove, isAbove);
  case ICmp::GT: return decide(isAbove, isNotAbove);
  case ICmp::GE: return decide(isNotBelow, isBelow);
  case ICmp::EQ: return decide(false, isBelow || isAbove);
  case ICmp::NE: return decide(isBelow || isAbove, false);
  case ICmp::F: return false;
  case ICmp::T: return true;
  }
  return std::nullopt;
}

/// The result of comparing a value that is at least `least`, or a NaN, with a constant.
std::optional<bool> ofLeast(FCmp comparison, float least, float limit) {
  const bool isAbove = least > limit;
  if (!(least >= limit)) return std::nullopt;
  switch (comparison) {
  case FCmp::LT: return false;
  case FCmp::GEU: return true;
  case FCmp::LE:
  case FCmp::EQ: return isAbove ? std::optional(false) : std::nullopt;
  case FCmp::GTU:
  case FCmp::NEU: return isAbove ? std::optional(true) : std::nullopt;
  default: return std::nullopt;
  }
}

std::optional<bool> ofFloats(const Rewriter& rw, const Instr& instr) {
  const Operand a = instr.op_(2).value(), b = instr.op_(3).value();
  const auto comparison = isa::modAs<FCmp>(instr, Mod::Cmp);
  if (a == b) return ofEqualFloats(comparison);
  if (instr.op != Op::FSETP) return std::nullopt;
  const auto limit = rw.constantOf(b);
  if (!limit) return std::nullopt;
  const auto number = std::bit_cast<float>(*limit);
  // A subnormal limit may be flushed.
  if (number != 0.0f && !std::isnormal(number)) return std::nullopt;
  return ofLeast(comparison, leastNumber(rw, a), number);
}

std::optional<bool> outcome(const Rewriter& rw, const Instr& instr) {
  if (instr.op == Op::FSETP || instr.op == Op::DSETP) return ofFloats(rw, instr);
  const Operand a = instr.op_(2).value(), b = instr.op_(3).value();
  const auto comparison = isa::modAs<ICmp>(instr, Mod::Cmp);
  if (a == b) return ofEqualIntegers(comparison);
  const Range left = knownRange(rw, a), right = knownRange(rw, b);
  if (isa::modAs<isa::IntType>(instr, Mod::Type) == isa::IntType::U32)
    return ofRanges(comparison, {left.least, left.most}, {right.least, right.most});
  return ofRanges(comparison, signedRange(left), signedRange(right));
}

/// `truth` combined with a predicate; nothing if this would need an instruction.
std::optional<Operand> combined(const Rewriter& rw, bool truth, BoolOp op, const Operand& other) {
  const Operand always = Operand::pt();
  if (op == BoolOp::AND && !truth) return always.notted();
  if (op == BoolOp::OR && truth) return always;
  if (!rw.isStable(other)) return std::nullopt;
  return op == BoolOp::XOR && truth ? other.notted() : other;
}

bool isWanted(const Rewriter& rw, const Instr& instr, unsigned slot) {
  const Operand result = instr.op_(slot).value();
  return !isUnused(result) && !(result.isVirtual() && !rw.function().hasUses(result.reg));
}

/// Turns the results in slots 0 and 1 into copies of their values.
bool becomeTruths(Rewriter& rw, Instr& instr, const std::optional<Operand>& first,
                  const std::optional<Operand>& second) {
  const std::optional<Operand>* values[]{&first, &second};
  std::optional<unsigned> last;
  for (unsigned slot = 0; slot < 2; ++slot) {
    if (!isWanted(rw, instr, slot)) continue;
    if (!*values[slot]) return false;
    if (last && instr.isGuarded()) return false;
    last = slot;
  }
  if (!last) return false;
  const Operand target = instr.op_(*last).value();
  if (*last == 1 && isWanted(rw, instr, 0)) {
    const Operand other = instr.op_(0).value();
    // Removes the result from this instruction before another one defines it.
    rw.setOperand(instr, 0, Operand::pt());
    const Operand operands[]{other, *first};
    rw.insertBefore(instr, Op::COPY, operands);
  }
  rw.rewrite(instr, Op::COPY, {target, *(*values[*last])});
  return true;
}

} // namespace

bool foldComparison(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::ISETP && instr.op != Op::FSETP && instr.op != Op::DSETP) return false;
  const std::optional<bool> truth = outcome(rw, instr);
  if (!truth) return false;
  const auto op = isa::modAs<BoolOp>(instr, Mod::Bool);
  const Operand other = instr.op_(4).value();
  return becomeTruths(rw, instr, combined(rw, *truth, op, other), combined(rw, !*truth, op, other));
}

/// The comparison of high words if the result for equal ones is known to be `truth`; nothing if it is constant.
std::optional<ICmp> withKnownEqual(ICmp comparison, bool truth) {
  switch (comparison) {
  case ICmp::LT:
  case ICmp::LE: return truth ? ICmp::LE : ICmp::LT;
  case ICmp::GT:
  case ICmp::GE: return truth ? ICmp::GE : ICmp::GT;
  case ICmp::EQ: return truth ? std::optional(ICmp::EQ) : std::nullopt;
  case ICmp::NE: return truth ? std::nullopt : std::optional(ICmp::NE);
  default: return std::nullopt;
  }
}

/// If the comparison of the low words is known, that of the high ones becomes a plain one.
bool becomePlainComparison(Rewriter& rw, Instr& instr) {
  const auto truth = rw.truthOf(instr.op_(5).value());
  if (!truth) return false;
  const auto comparison = withKnownEqual(isa::modAs<ICmp>(instr, Mod::Cmp), *truth);
  if (!comparison) return false;
  const auto source = [&](unsigned i) { return instr.op_(i).value(); };
  rw.rewrite(instr, Op::ISETP, {source(0), source(1), source(2), source(3), source(4)},
             {{Mod::Cmp, *comparison},
              {Mod::Type, isa::modAs<isa::IntType>(instr, Mod::Type)},
              {Mod::Bool, isa::modAs<BoolOp>(instr, Mod::Bool)}});
  return true;
}

/// If the high words are equal, the comparison of the low ones decides.
bool foldLongComparison(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::ISETP_EX) return false;
  const auto comparison = isa::modAs<ICmp>(instr, Mod::Cmp);
  if (comparison == ICmp::F || comparison == ICmp::T) return false;
  const Operand a = instr.op_(2).value(), b = instr.op_(3).value(), low = instr.op_(5).value();
  const auto left = rw.constantOf(a), right = rw.constantOf(b);
  if (a != b && !(left && left == right)) return becomePlainComparison(rw, instr);
  const auto op = isa::modAs<BoolOp>(instr, Mod::Bool);
  const Operand other = instr.op_(4).value();
  if (const auto truth = rw.truthOf(low))
    return becomeTruths(rw, instr, combined(rw, *truth, op, other), combined(rw, !*truth, op, other));
  if (op != BoolOp::AND || rw.truthOf(other) != true || !rw.isStable(low)) return false;
  return becomeTruths(rw, instr, low, low.notted());
}

/// Folds a LOP3 that tests whether any bit of its result is set, if none can be or one always is.
bool foldBitTest(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::LOP3 || !isWanted(rw, instr, 0) || isWanted(rw, instr, 1)) return false;
  if (isa::getMod(instr.op, instr.mods, Mod::Pand) != 0) return false;
  const Bits bits = knownBitsOfLogic(rw, instr);
  const Operand other = instr.op_(6).value();
  if (bits.mustBeOne() != 0)
    rw.becomeCopy(instr, Operand::pt());
  else if (bits.canBeOne == 0 && rw.isStable(other))
    rw.becomeCopy(instr, other);
  else
    return false;
  return true;
}

} // namespace orias::phases

#include "encoder/isa/desc.h"
#include "phases/expansion.h"
#include "support/check.h"

#include <limits>

// Exactly rounded quotients, reciprocals and square roots of f64.
//
// Quotient (Markstein; Cornea, Harrison and Tang; Muller et al., Handbook of Floating-Point Arithmetic, ch. 4). A seed
// y0 = (1/b)(1 - e0) is refined to y = 1/b to within half an ulp. Then q0 = a y, and each step q' = q + (a - b q) y has
// an exact remainder and gives a/b + (a/b - q)(b y - 1) before it is rounded. With b in [1, 2) the first step brings q
// to within half an ulp, 2^-53 of a quotient in [1, 2), so the second is off by at most 2^-53 b 2^-54. The numbers
// where rounding changes have 54 bits: a/b is exactly one of them or at least 2^-105 / b away from it (a - m b is a
// multiple of 2^-105). That distance is larger than the error where b^2 < 4 (1 - 2^-50). The b closer to 2 are b = 2 -
// 2^-52 k, and 1/b is 2^-54 k + 2^-107 k^2 above 1/2. For even k this is nearly a number, and y is that number. For odd
// k it is close to a midpoint between two numbers, and y must be the upper one. It is: for k >= 3 the error of y before
// its rounding, (1/2) 2^-105, is below k^2 2^-107 (|e0| < 2^-18), and for k = 1 the correction is rounded up. Directed
// roundings change at numbers of 53 bits, which is easier.
//
// Root (u = 2^-53, a in [1, 4)). A seed with an error of up to 2^-18 is refined to y = (1 + n) / sqrt(a) with |n| <=
// (1.25 + sqrt(a) / 2) u, and g = a y misses sqrt(a) by d, |d| <= sqrt(a) |n| + u. g + (a - g^2) y / 2 is off by at
// most |d| (|n| + |d| / (2 sqrt a) + u) before it is rounded. For a midpoint m of 54 bits, a - m^2 is j u^2 with an odd
// integer j = 7 modulo 8, so m is j u^2 / (2 sqrt a) from the root: where |j| > 102, that is larger than the error. The
// 58 arguments with |j| <= 161 are rounded correctly with every such seed (test/exact tries them). So one step rounds
// to nearest, as in the code of ptxas. Directed roundings change at numbers of 53 bits; they take another step, from
// the root rounded to nearest.
//
// The fast paths need fewer steps. The first step leaves y1 within 1.5 u of 1/b (u = 2^-53), so e1 = 1 - b y1 is exact,
// and y = y1 + y1 e1 is (1/b)(1 - e1^2) before it is rounded. For b in [1, 2) and a midpoint m, 1 - b m is k u^2 with
// an integer k: y is 1/b rounded to nearest unless 0 < k < e1^2 / u^2 <= 2.25. For k = 1, b and m are factors of 2^106
// - 1 with 53 and 54 bits; only b = 2 - 2^-52 has them. The slow path is taken where the mantissa's upper word is all
// ones. For k = 2 they are factors of 2^105 - 1, for 32 numbers b; each of them is rounded correctly with every seed
// with an error of up to 2^-18 (one is not with 2^-17.4). With that y, a step from q0 = a y is off by (a/b - q0)(1 - b
// y) before it is rounded, and |1 - b y| <= b 2^-54. q0 is within 1.5 ulps of a/b, less 2^-52 ulps: a midpoint next to
// a/b is half an ulp from q0, and its distance from a/b is at least 4 / b^2 times the error of the step. So one step is
// enough to round to nearest (Markstein). Directed roundings take another step, from a/b rounded to nearest: where a/b
// is a number, they must find it.
//
// The tests in test/exact run this code, with seeds with an error of 2^-18.

namespace orias::phases {

using isa::Mod;
using isa::Op;
using isa::Operand;

namespace {

const Operand kTrue = Operand::pt();
constexpr std::uint32_t kOneHigh = 0x3ff00000; ///< the high word of 1

Operand infinity() {
  return Expansion::f64High(std::numeric_limits<double>::infinity());
}

/// Returns a pair whose low word is 0.
Operand wide(Expansion& e, Operand high) {
  return e.pair(Operand::rz(), high);
}

/// Newton steps for 1 / b from the seed's high word. `third` (after three steps) is within half an ulp, `second` within
/// little more.
struct Reciprocal {
  Operand second, third;
};

Reciprocal reciprocal(Expansion& e, Operand b, Operand seed) {
  const Operand one = Expansion::f64High(1.0), minusB = b.negated();
  Operand y0 = wide(e, seed);
  Operand e0 = e.dfma(minusB, y0, one);
  Operand second = e.dfma(y0, e.dfma(e0, e0, e0), y0);
  Operand e1 = e.dfma(minusB, second, one);
  return {second, e.dfma(second, e.dfma(e1, e1, e1, isa::Rnd::RP), second)};
}

/// 1 / b rounded to nearest, for regular b (see isRegularAsDivisor).
Operand nearestReciprocal(Expansion& e, Operand b, Operand seed) {
  const Operand one = Expansion::f64High(1.0), minusB = b.negated();
  Operand y0 = wide(e, seed);
  Operand e0 = e.dfma(minusB, y0, one);
  Operand y1 = e.dfma(y0, e.dfma(e0, e0, e0), y0);
  return e.dfma(y1, e.dfma(minusB, y1, one), y1);
}

/// A predicate: b is not so close to the next power of two that nearestReciprocal may be wrong.
Operand isRegularAsDivisor(Expansion& e, Operand b) {
  constexpr std::uint32_t kNotAnd = 0x0c;
  return e.compare(isa::ICmp::NE, e.logic(Expansion::high(b), Expansion::imm(0x000fffff), kNotAnd), Operand::rz());
}

/// The last approximation of a / b, within half an ulp, the remainder of a, and 1 / b.
struct Division {
  Operand q, remainder, y;
  /// The quotient: q corrected by the remainder.
  Operand rounded(Expansion& e, isa::Rnd rounding) const { return e.dfma(remainder, y, q, rounding); }
};

Division divide(Expansion& e, Operand a, Operand b, Operand seed) {
  const Reciprocal y = reciprocal(e, b, seed);
  const Operand minusB = b.negated();
  Operand q0 = e.dmul(a, y.second);
  Operand q1 = e.dfma(e.dfma(minusB, q0, a), y.third, q0);
  return {q1, e.dfma(minusB, q1, a), y.third};
}

Operand seedOf(Expansion& e, Operand b) {
  return e.mufu(isa::Mufu::RCP64H, Expansion::high(b));
}

/// Bits 20 to 30 of the high word.
Operand exponentField(Expansion& e, Operand high) {
  Operand shifted = e.newR();
  e.builder().emit(Op::SHF, {shifted, Operand::rz(), Expansion::imm(20), high},
                   {{Mod::ShiftDir, isa::ShiftDir::R}, {Mod::ShiftType, isa::ShiftType::U32}, {Mod::Hi, 1}});
  return e.bitAnd(shifted, Expansion::imm(0x7ff));
}

/// A finite number as mantissa times a power of two.
struct Normalised {
  Operand mantissa; ///< in [1, 2), with the sign
  Operand exponent; ///< the exponent field as if the exponent range had no lower bound
};

Normalised normalise(Expansion& e, Operand x) {
  Operand isTiny = e.compare(isa::ICmp::EQ, e.bitAnd(Expansion::high(x), Expansion::imm(0x7ff00000)), Operand::rz());
  Operand up = e.select64(isTiny, e.dmul(x, Expansion::f64High(0x1p54)), x);
  Operand field = exponentField(e, Expansion::high(up));
  constexpr std::uint32_t kAndOr = 0xea;
  Operand high = e.logic(Expansion::high(up), Expansion::imm(0x800fffff), e.constant(kOneHigh), kAndOr);
  return {e.pair(Expansion::low(up), high), e.select(isTiny, e.add(field, Expansion::imm(-54u)), field)};
}

/// A predicate: x is neither 0 nor infinite nor NaN, and `other` holds.
Operand isRegular(Expansion& e, Operand x, Operand other = kTrue) {
  const Operand isFinite = e.dcompare(isa::FCmp::LT, x.absolute(), infinity(), isa::BoolOp::AND, other);
  return e.dcompare(isa::FCmp::GT, x.absolute(), Operand::rz(2), isa::BoolOp::AND, isFinite);
}

Operand clamped(Expansion& e, Operand x, std::int32_t limit) {
  const auto up = static_cast<std::uint32_t>(limit), down = static_cast<std::uint32_t>(-limit);
  Operand notHigh = e.select(e.compare(isa::ICmp::LT, x, Expansion::imm(up), true), x, Expansion::imm(up));
  return e.select(e.compare(isa::ICmp::GT, notHigh, Expansion::imm(down), true), notHigh, Expansion::imm(down));
}

/// a / b for finite operands other than zero. The quotient of the mantissas is scaled by two multiplications, of which
/// only the second rounds. Where the result is subnormal, that would round an already rounded number. The quotient is
/// then replaced by a number strictly between the same two neighbors of 53 bits, (q + one ulp) (1 - 2^-53) with q
/// rounded toward zero. The multiplication computes it exactly and drops at least one of the 53 bits.
Operand finiteQuotient(Expansion& e, Operand a, Operand b, isa::Rnd rounding) {
  const Normalised na = normalise(e, a), nb = normalise(e, b);
  Operand seed = e.mufu(isa::Mufu::RCP64H, Expansion::high(nb.mantissa));
  const Division division = divide(e, na.mantissa, nb.mantissa, seed);
  Operand nearest = division.rounded(e, rounding), truncated = division.rounded(e, isa::Rnd::RZ);
  Operand exponent = e.newR();
  e.builder().emit(Op::IADD3, {exponent, kTrue, kTrue, na.exponent, nb.exponent.negated(), Operand::rz()});
  Operand field = e.add(exponentField(e, Expansion::high(truncated)), exponent);
  Operand isSubnormal = e.compare(isa::ICmp::LT, field, Expansion::imm(1), true);
  Operand between = e.dcompare(isa::FCmp::NE, e.dfma(nb.mantissa.negated(), truncated, na.mantissa), Operand::rz(2),
                               isa::BoolOp::AND, isSubnormal);
  Operand minusOne = e.select(between, e.constant(~0u), Operand::rz());
  Operand one64 = e.pair(minusOne, minusOne);

  Operand value = addWithCarry(e.builder(), e.select64(isSubnormal, truncated, nearest), one64.negated());
  Operand scale = clamped(e, exponent, 1200), half = e.newR(), rest = e.newR();
  e.builder().emit(Op::SHF, {half, Operand::rz(), Expansion::imm(1), scale},
                   {{Mod::ShiftDir, isa::ShiftDir::R}, {Mod::ShiftType, isa::ShiftType::S32}, {Mod::Hi, 1}});
  e.builder().emit(Op::IADD3, {rest, kTrue, kTrue, scale, half.negated(), Operand::rz()});
  const Operand unit = Expansion::imm(0x00100000);
  Operand first = e.pair(Expansion::low(value), e.multiplyAdd(half, unit, Expansion::high(value)));
  Operand second = addWithCarry(e.builder(), wide(e, e.multiplyAdd(rest, unit, e.constant(kOneHigh))), one64);
  return e.dmul(first, second, rounding);
}

/// The slow path. Zero, infinity and NaN are the most frequent operands here and are computed by a product. The other
/// operands take another cold block. `isRegularA`: `a` is known to be none of the three.
void divideSlowly(Expansion& e, Operand result, Operand a, Operand b, isa::Rnd rounding, bool isRegularA = false) {
  const Operand isRegularB = isRegular(e, b);
  // 1/0, 1/infinity and 1/NaN come from one special-function operation. A NaN may differ from infinity in its low word
  // only.
  constexpr std::uint32_t kSign = 0x80000000, kOr = 0xfc, kAndOr = 0xea;
  const Operand anyLow =
      e.select(e.compare(isa::ICmp::NE, Expansion::low(b), Operand::rz()), e.constant(1), Operand::rz());
  const Operand inverse = e.mufu(isa::Mufu::RCP64H, e.logic(Expansion::high(b), anyLow, kOr));
  const Operand signedOne = e.logic(Expansion::high(b), Expansion::imm(kSign), e.constant(kOneHigh), kAndOr);
  e.builder().copy(result, e.dmul(a, wide(e, e.select(isRegularB, signedOne, inverse))));
  e.beginColdPath(isRegularA ? isRegularB : isRegular(e, a, isRegularB));
  e.builder().copy(result, finiteQuotient(e, a, b, rounding));
  e.endColdPath();
}

Operand quotient(Expansion& e, Operand a, Operand b, isa::Rnd rounding) {
  Operand result = e.newR(2);
  const Operand y = nearestReciprocal(e, b, seedOf(e, b));
  Operand q = e.dmul(a, y);
  const auto next = [&](isa::Rnd mode) { return e.dfma(e.dfma(b.negated(), q, a), y, q, mode); };
  // Where the quotient is representable, a directed rounding has to start from it.
  if (rounding != isa::Rnd::RN) q = next(isa::Rnd::RN);
  e.builder().copy(result, next(rounding));
  // The remainders are exact where a >= 2^-969; the reciprocal and the quotient are normal where b < 2^1017 and the
  // result is in between. As floats, high words compare as the numbers do, and 0 b + q is NaN for too large a b.
  Operand seen = e.newR(), inside = e.builder().newP(), regular = e.builder().newP();
  e.builder().emit(Op::FFMA, {seen, Operand::rz(), Expansion::high(b), Expansion::high(result)});
  e.builder().emit(Op::FSETP, {inside, kTrue, seen.absolute(), Expansion::imm(0x00100000), isRegularAsDivisor(e, b)},
                   {{Mod::Cmp, isa::FCmp::GT}, {Mod::Bool, isa::BoolOp::AND}});
  e.builder().emit(Op::FSETP, {regular, kTrue, Expansion::high(a).absolute(), Expansion::imm(0x03600000), inside},
                   {{Mod::Cmp, isa::FCmp::GEU}, {Mod::Bool, isa::BoolOp::AND}});
  e.beginColdPath(regular.notted());
  e.deferSlowPath(result, {a, b});
  e.endColdPath();
  return result;
}

/// 1 / b. Directed roundings need one more step: they change at numbers of 53 bits.
Operand inverse(Expansion& e, Operand b, isa::Rnd rounding) {
  Operand y = nearestReciprocal(e, b, seedOf(e, b)), result = e.newR(2);
  if (rounding != isa::Rnd::RN) y = e.dfma(e.dfma(b.negated(), y, Expansion::f64High(1.0)), y, y, rounding);
  e.builder().copy(result, y);
  // b is normal, and below 2^1022 for a normal result. Doubling the high word drops the sign.
  Operand twice = e.newR(), high = Expansion::high(b);
  e.builder().emit(Op::IADD3, {twice, kTrue, kTrue, high, Expansion::imm(-0x00200000u), high});
  Operand regular = e.builder().newP();
  e.builder().emit(Op::ISETP,
                   {regular, kTrue, twice, Expansion::imm(2 * (0x7fd00000u - 0x00100000u)), isRegularAsDivisor(e, b)},
                   {{Mod::Cmp, isa::ICmp::LT}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
  e.beginColdPath(regular.notted());
  e.deferSlowPath(result, {b});
  e.endColdPath();
  return result;
}

/// 1 / sqrt(a) from the seed's high word: y0 (1 - e)^(-1/2) up to the second power of e = 1 - a y0^2.
struct InverseRoot {
  Operand seed, error, y;
};

InverseRoot inverseRoot(Expansion& e, Operand a) {
  InverseRoot r;
  r.seed = wide(e, e.mufu(isa::Mufu::RSQ64H, Expansion::high(a)));
  r.error = e.dfma(a.negated(), e.dmul(r.seed, r.seed), Expansion::f64High(1.0));
  Operand series = e.dfma(r.error, wide(e, e.constant(0x3fd80000)), Expansion::f64High(0.5)); // 3/8, 1/2
  r.y = e.dfma(series, e.dmul(r.seed, r.error), r.seed);
  return r;
}

/// sqrt(a), for an a from which the remainder is exact. First rounded to nearest; other roundings start from that.
Operand scaledRoot(Expansion& e, Operand a, const InverseRoot& r, isa::Rnd rounding) {
  Operand g = e.dmul(a, r.y);
  Operand h = e.pair(Expansion::low(r.y), e.add(Expansion::high(r.y), Expansion::imm(-0x00100000u)));
  const auto next = [&](isa::Rnd mode) { return e.dfma(e.dfma(g.negated(), g, a), h, g, mode); };
  if (rounding != isa::Rnd::RN) g = next(isa::Rnd::RN);
  return next(rounding);
}

/// Whether the high word is that of a positive finite number of at least `least`. As integers, NaNs and negative
/// numbers are greater than infinity.
Operand isPositiveFrom(Expansion& e, Operand a, std::uint32_t least) {
  constexpr std::uint32_t kInfinity = 0x7ff00000;
  return e.compare(isa::ICmp::LT, e.add(Expansion::high(a), Expansion::imm(-least)), Expansion::imm(kInfinity - least));
}

Operand isZeroOrInfinity(Expansion& e, Operand a) {
  const Operand isZero = e.dcompare(isa::FCmp::EQ, a, Operand::rz(2));
  return e.dcompare(isa::FCmp::EQ, a, infinity(), isa::BoolOp::OR, isZero);
}

/// The slow path scales by 2^108.
Operand scaledUp(Expansion& e, Operand a) {
  return e.dmul(a, Expansion::f64High(0x1p108));
}

Operand root(Expansion& e, Operand a, isa::Rnd rounding) {
  constexpr std::uint32_t kLeast = 0x03600000; // 2^-969: the remainder is exact
  Operand result = e.newR(2);
  e.builder().copy(result, scaledRoot(e, a, inverseRoot(e, a), rounding));
  e.beginColdPath(isPositiveFrom(e, a, kLeast).notted());
  e.deferSlowPath(result, {a});
  e.endColdPath();
  return result;
}

void extractRootSlowly(Expansion& e, Operand result, Operand a, isa::Rnd rounding) {
  // Zeros and infinity are their own roots; negative numbers and NaN have none.
  constexpr std::uint32_t kNan = 0x7ff80000;
  const Operand factor = e.select(isZeroOrInfinity(e, a), e.constant(kOneHigh), Expansion::imm(kNan));
  e.builder().copy(result, e.dmul(a, wide(e, factor)));
  const Operand isPositive = e.dcompare(isa::FCmp::GT, a, Operand::rz(2));
  e.beginColdPath(e.dcompare(isa::FCmp::LT, a, infinity(), isa::BoolOp::AND, isPositive));
  const Operand x = scaledUp(e, a);
  e.builder().copy(result, e.dmul(scaledRoot(e, x, inverseRoot(e, x), rounding), Expansion::f64High(0x1p-54)));
  e.endColdPath();
}

/// 1 / sqrt(a), not exactly rounded. Zeros, infinity and negative numbers get the result of the special function unit.
Operand approximateInverseRoot(Expansion& e, Operand a) {
  constexpr std::uint32_t kLeastNormal = 0x00100000;
  Operand result = e.newR(2);
  const InverseRoot fast = inverseRoot(e, a);
  e.builder().copy(result, fast.y);
  e.beginColdPath(isPositiveFrom(e, a, kLeastNormal).notted());
  e.builder().copy(result, fast.seed);
  e.beginColdPath(isZeroOrInfinity(e, a).notted());
  e.builder().copy(result, e.dmul(inverseRoot(e, scaledUp(e, a)).y, Expansion::f64High(0x1p54)));
  e.endColdPath();
  e.endColdPath();
  return result;
}

} // namespace

bool isDoubleMacro(const ori::Instr& instr) {
  if (isa::desc(instr.op).modIndex(Mod::MacroKind) < 0) return false;
  if (isa::modAs<isa::MacroType>(instr, Mod::MacroType) != isa::MacroType::F64) return false;
  // With .ftz the approximation is one special-function operation (phase 8).
  return !isApproximation(instr) || (instr.op == Op::FRSQRT && !isa::getMod(instr.op, instr.mods, Mod::Ftz));
}

void expandDoubleMacro(ori::Function& function, ori::Instr* macro) {
  Expansion e(function, macro);
  const isa::Rnd rounding = roundingOf(*macro);
  Operand a = e.source(1);
  switch (macro->op) {
  case Op::FDIV: return e.give(quotient(e, a, e.source(2), rounding));
  case Op::FRCP: return e.give(inverse(e, a, rounding));
  case Op::FSQRT: return e.give(root(e, a, rounding));
  case Op::FRSQRT: return e.give(approximateInverseRoot(e, a));
  default: ORIAS_UNREACHABLE("this operation as an f64 macro");
  }
}

void expandSlowDoubleMacro(ori::Function& function, ori::Instr* macro) {
  Expansion e(function, macro);
  const isa::Rnd rounding = roundingOf(*macro);
  const Operand a = e.source(1), result = e.newR(2);
  switch (macro->op) {
  case Op::FDIV: divideSlowly(e, result, a, e.source(2), rounding); break;
  case Op::FRCP: divideSlowly(e, result, wide(e, e.constant(kOneHigh)), a, rounding, true); break;
  case Op::FSQRT: extractRootSlowly(e, result, a, rounding); break;
  default: ORIAS_UNREACHABLE("the slow path of this operation as an f64 macro");
  }
  e.give(result);
}

} // namespace orias::phases

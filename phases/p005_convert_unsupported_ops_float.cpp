#include "encoder/isa/desc.h"
#include "phases/expansion.h"
#include "phases/induction_variables.h"
#include "support/check.h"

#include <optional>

// Exactly rounded quotients, reciprocals and square roots of f32. The fast paths are Newton and Markstein steps in f32
// (Muller et al., Handbook of Floating-Point Arithmetic, ch. 4). Operands for which a step could overflow or become
// subnormal take a slow path. It computes a quotient in f64 if the target has a fast fp64 pipe, and else from mantissas
// in [1, 2). For a root it first scales the operand by a power of four.
//
// Fast paths. The unit's reciprocal y0 is within an ulp, its reciprocal root within 2^-22.9 (PTX ISA, rcp.approx and
// rsqrt.approx). One step of third order makes y = RN(1/b), for any such y0. Then q' = q + (a - b q) y has an exact
// remainder and is a/b + (a/b - q)(b y - 1) before it is rounded, closer to a/b than any midpoint between two numbers:
// RN needs one such step. A directed rounding changes at the numbers themselves, so it needs a second step. test/exact
// shows that this holds for each b: it tries a reciprocal and a root for all mantissas with each seed, and a quotient
// for all divisors with the dividends whose quotients are closest to a number or a midpoint.
//
// The slow path of a root scales by a power of four: the argument to one whose remainder is exact, and the root back to
// a normal number. Both are exact.
//
// The slow path of a quotient in f64 rounds a second time when it converts back. This gives the same result as rounding
// the true value once: the f64 result x is within 2^-53 (1 + 2^-40) of the true value t, relatively, and equal to it
// where f64 can represent t. The numbers at which rounding to f32 changes (its numbers and the midpoints between them)
// have at most 25 significant bits. Where t = a / b is not such a number m, it is farther from m than the error of x:
// |a - m b| is at least one unit of the product of a 25-bit and a 24-bit number, |t - m| >= 2^-49 t. So x and t lie on
// the same side of m, for all four roundings. Subnormal results, where m has fewer bits, leave an even wider margin.
//
// x has that accuracy, and is exact where it can be, because its last step adds an exact remainder (a - b q, which f64
// holds for a q within an ulp or so) times a reciprocal that is good to 2^-51: x = q + r y differs from t by 2^-51 |t -
// q| before it is rounded.
//
// The slow path of a quotient in f32: a = A 2^i and b = B 2^j with A and B in [1, 2), so t = (A / B) 2^k. q is A / B to
// within an ulp, S = RZ(q 2^k) has the precision of the result, and s = S 2^-k is exact. The last step adds the exact
// remainder A - B s, divided by B to the nearest and times 2^k, to S, and rounds once. With u for the ulp of the result
// over 2^k, a midpoint between two results is s + u / 2. Where a subnormal A / B is one, u / 2 is the remainder's
// quotient, exactly. Elsewhere A / B differs from it by at least 2^-24 u / B > 2^-25 u, which is more than half an ulp
// of a number below or above u / 2: the remainder's quotient stays on its side. The same holds at the results
// themselves, 0 and u, from which A / B differs by twice as much. |k| is clamped to 200, far beyond overflow and
// underflow, so that 2^k is the product of two normal numbers.

namespace orias::phases {

using isa::Mod;
using isa::Op;
using isa::Operand;

namespace {

const Operand kTrue = Operand::pt();

/// a / b in f64, for a and b converted from finite f32 other than zero.
Operand quotient64(Expansion& e, Operand a, Operand b) {
  const Operand one = Expansion::f64High(1.0);
  // A seed with 20 good bits, then 40 and 53. f32 operands cannot bring it near the ends of f64's range.
  Operand y0 = e.pair(Operand::rz(), e.mufu(isa::Mufu::RCP64H, Expansion::high(b)));
  Operand y1 = e.dfma(y0, e.dfma(b.negated(), y0, one), y0);
  Operand y2 = e.dfma(y1, e.dfma(b.negated(), y1, one), y1);
  Operand q = e.dmul(a, y2);
  return e.dfma(e.dfma(b.negated(), q, a), y2, q);
}

/// What the slow and the fast path of one macro share.
struct FloatMacro {
  Expansion& e;
  isa::Rnd rounding;
  bool ftz;

  /// The operand as the slow path uses it.
  Operand flushed(Operand a) const { return ftz ? e.flush(a) : a; }
};

constexpr std::uint32_t kOneBits = 0x3f800000, kSignAndFraction = 0x807fffff;

/// An operand of a slow path, and its bits if they are known. Subnormal numbers count as unknown.
struct Source {
  Operand reg;
  std::optional<std::uint32_t> bits;

  Operand knownMantissa(Expansion& e) const { return e.constant((*bits & kSignAndFraction) | kOneBits); }
  Operand knownExponent() const { return Expansion::imm(*bits >> 23 & 0xff); }
};

const Operand kOne = Expansion::imm(kOneBits), kHalf = Expansion::imm(0x3f000000);

/// RN(1 / b), from the special function unit's approximation.
Operand reciprocal(Expansion& e, Operand b) {
  Operand seed = e.mufu(isa::Mufu::RCP, b);
  Operand error = e.fma(b.negated(), seed, kOne);
  return e.fma(seed, e.fma(error, error, error, isa::Rnd::RP), seed);
}

/// a / b by the fast path, for operands from which no step overflows or becomes subnormal.
Operand fastQuotient(const FloatMacro& m, Operand a, Operand b) {
  Expansion& e = m.e;
  const Operand minusB = b.negated();
  Operand y = reciprocal(e, b);
  Operand crude = e.fma(a, y, Operand::rz());
  Operand q = e.fma(e.fma(minusB, crude, a), y, crude);
  return m.rounding == isa::Rnd::RN ? q : e.fma(e.fma(minusB, q, a), y, q, m.rounding);
}

/// A finite f32 other than zero as mantissa * 2^(exponent - 127).
struct Scaled {
  Operand mantissa; ///< with the sign, its magnitude in [1, 2)
  Operand exponent;
};

/// `one` is a register that holds 1.0.
Scaled scaled(Expansion& e, const Source& source, Operand one) {
  constexpr std::uint32_t kLeastNormal = 0x00800000, kTo64 = 0x5f800000;
  constexpr std::uint32_t kAndOr = 0xea;
  if (source.bits) return {source.knownMantissa(e), source.knownExponent()};
  const Operand a = source.reg;
  Operand isSubnormal = e.builder().newP();
  e.builder().emit(Op::FSETP, {isSubnormal, kTrue, a.absolute(), Expansion::imm(kLeastNormal), kTrue},
                   {{Mod::Cmp, isa::FCmp::LT}, {Mod::Bool, isa::BoolOp::AND}});
  Operand normal = e.select(isSubnormal, e.fmul(a, Expansion::imm(kTo64)), a);
  Operand field = e.bitAnd(e.shiftRight(normal, 23), Expansion::imm(0xff));
  Operand mantissa = e.logic(normal, Expansion::imm(kSignAndFraction), one, kAndOr);
  return {mantissa, e.select(isSubnormal, e.add(field, Expansion::imm(-64u)), field)};
}

/// a - b, for at most one immediate.
Operand differenceOf(Expansion& e, Operand a, Operand b) {
  if (a.isImm()) return e.add(b.negated(), a);
  return e.add(a, b.isImm() ? Expansion::imm(-static_cast<std::uint32_t>(b.imm)) : b.negated());
}

/// a / b for finite operands other than zero, rounded once, with f32 operations.
Operand quotient32(const FloatMacro& m, const Source& a, const Source& b) {
  Expansion& e = m.e;
  Operand one = e.constant(kOneBits);
  const Scaled sa = scaled(e, a, one), sb = scaled(e, b, one);
  Operand y = reciprocal(e, sb.mantissa);
  Operand crude = e.fmul(sa.mantissa, y);
  Operand q = e.fma(e.fma(sb.mantissa.negated(), crude, sa.mantissa), y, crude);

  constexpr std::uint32_t kMax = 200;
  Operand difference = differenceOf(e, sa.exponent, sb.exponent);
  Operand most = e.constant(kMax), least = e.constant(-kMax);
  Operand k = e.select(e.compare(isa::ICmp::LT, difference, Expansion::imm(kMax), true), difference, most);
  k = e.select(e.compare(isa::ICmp::GT, k, Expansion::imm(-kMax), true), k, least);
  Operand k1 = e.shiftRight(k, 1, true), k2 = e.add(k, k1.negated());
  auto powerOfTwo = [&](Operand exponent) { return e.multiplyAdd(exponent, Expansion::imm(0x00800000), one); };
  auto inverse = [&](Operand power) { return e.add(power.negated(), Expansion::imm(0x7f000000)); };
  Operand p1 = powerOfTwo(k1), p2 = powerOfTwo(k2);

  Operand truncated = e.fmul(e.fmul(q, p1), p2, isa::Rnd::RZ);
  Operand back = e.fmul(e.fmul(truncated, inverse(p2)), inverse(p1));
  Operand remainder = e.fma(sb.mantissa.negated(), back, sa.mantissa);
  Operand near = e.fmul(remainder, y);
  Operand rest = e.fma(e.fma(sb.mantissa.negated(), near, remainder), y, near);
  return e.fma(e.fmul(rest, p1), p2, truncated, m.rounding);
}

/// a / b for normal operands, flushed. It is rounded as if exponents had no bounds: the quotient of the mantissas is
/// rounded, and then its exponent is examined.
Operand flushedQuotient(const FloatMacro& m, const Source& a, const Source& b) {
  Expansion& e = m.e;
  Operand one = e.constant(kOneBits);
  constexpr std::uint32_t kSign = 0x80000000, kAndOr = 0xea;
  const auto exponentOf = [&](Operand x) { return e.bitAnd(e.shiftRight(x, 23), Expansion::imm(0xff)); };
  const auto exponent = [&](const Source& x) { return x.bits ? x.knownExponent() : exponentOf(x.reg); };
  const auto mantissa = [&](const Source& x) {
    if (x.bits) return x.knownMantissa(e);
    return e.logic(x.reg, Expansion::imm(kSignAndFraction), one, kAndOr);
  };
  const Operand mantissaA = mantissa(a), mantissaB = mantissa(b);
  Operand q = fastQuotient(m, mantissaA, mantissaB);

  Operand difference = differenceOf(e, exponent(a), exponent(b));
  Operand sum = e.add(exponentOf(q), difference), sign = e.bitAnd(q, Expansion::imm(kSign));
  // A product that overflows gives the rounding's result for overflow.
  constexpr std::uint32_t k2To100 = 0x71800000, k2To127 = 0x7f000000;
  Operand beyond = e.fmul(e.fmul(q, Expansion::imm(k2To100)), Expansion::imm(k2To127), m.rounding);
  Operand normal = e.multiplyAdd(difference, Expansion::imm(0x00800000), q);
  Operand bounded = e.select(e.compare(isa::ICmp::GT, sum, Expansion::imm(0xfe), true), beyond, normal);
  return e.select(e.compare(isa::ICmp::LT, sum, Expansion::imm(1), true), sign, bounded);
}

/// A predicate: a is finite and not zero, and `other` holds.
Operand isRegular(Expansion& e, const Source& a, Operand other = kTrue) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  if (other == kTrue.notted()) return other;
  if (a.bits) return 2 * *a.bits - 1 < 2 * kInfinity - 1 ? other : kTrue.notted();
  Operand twice = e.newR(), p = e.builder().newP(); // doubling drops the sign; zero wraps around
  e.builder().emit(Op::IADD3, {twice, kTrue, kTrue, a.reg, Expansion::imm(-1u), a.reg});
  e.builder().emit(Op::ISETP, {p, kTrue, twice, Expansion::imm(2 * kInfinity - 1), other},
                   {{Mod::Cmp, isa::ICmp::LT}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
  return p;
}

/// a / b for finite operands other than zero.
Operand finiteQuotient(const FloatMacro& m, const Source& a, const Source& b) {
  const bool hasFastDoubles = !m.e.target().isScoreboarded(isa::desc(Op::DFMA).latencyClass);
  return hasFastDoubles ? m.e.toF32(quotient64(m.e, m.e.toF64(a.reg), m.e.toF64(b.reg)), m.rounding)
                        : quotient32(m, a, b);
}

/// The slow path. Zero, infinity and NaN are the most frequent operands here and are computed by a product. The other
/// operands take another cold block. At most one operand is known.
void divideSlowly(const FloatMacro& m, Operand result, const Source& givenA, const Source& givenB) {
  Expansion& e = m.e;
  const Source a{givenA.bits ? givenA.reg : m.flushed(givenA.reg), givenA.bits};
  const Source b{givenB.bits ? givenB.reg : m.flushed(givenB.reg), givenB.bits};
  constexpr std::uint32_t kSign = 0x80000000, kAndOr = 0xea;
  const Operand isRegularB = isRegular(e, b);
  Operand factor;
  if (b.bits && isRegularB == kTrue) {
    factor = e.constant((*b.bits & kSign) | kOneBits);
  } else {
    const Operand inverse = e.mufu(isa::Mufu::RCP, b.reg);
    const auto signedOne = [&] { return e.logic(b.reg, Expansion::imm(kSign), e.constant(kOneBits), kAndOr); };
    factor = b.bits ? inverse : e.select(isRegularB, signedOne(), inverse);
  }
  e.builder().copy(result, e.fmul(a.reg, factor));
  const Operand areRegular = isRegular(e, a, isRegularB);
  if (areRegular == kTrue.notted()) return;
  e.beginColdPath(areRegular);
  e.builder().copy(result, m.ftz ? flushedQuotient(m, a, b) : finiteQuotient(m, a, b));
  e.endColdPath();
}

/// sqrt(a), for an a from which the remainder is exact.
Operand scaledRoot(const FloatMacro& m, Operand a) {
  Expansion& e = m.e;
  Operand y = e.mufu(isa::Mufu::RSQ, a);
  Operand crude = e.fma(a, y, Operand::rz()), h0 = e.fma(y, kHalf, Operand::rz());
  // g = sqrt(a) and h = 1 / (2 sqrt a) with the same error
  Operand error = e.fma(crude.negated(), h0, kHalf);
  Operand g = e.fma(crude, error, crude), h = e.fma(h0, error, h0);
  return e.fma(e.fma(g.negated(), g, a), h, g, m.rounding);
}

Operand slowRoot(const FloatMacro& m, Operand given) {
  Operand a = m.flushed(given);
  constexpr std::uint32_t kTo64 = 0x5f800000, kToMinus32 = 0x2f800000; // powers of two
  Operand computed = m.e.fma(scaledRoot(m, m.e.fma(a, Expansion::imm(kTo64), Operand::rz())),
                             Expansion::imm(kToMinus32), Operand::rz());
  // Zeros and infinity are their own roots.
  Operand zero = m.e.builder().newP(), self = m.e.builder().newP();
  constexpr std::uint32_t kInfinity = 0x7f800000;
  m.e.builder().emit(Op::FSETP, {zero, kTrue, a, Operand::rz(), kTrue},
                     {{Mod::Cmp, isa::FCmp::EQ}, {Mod::Bool, isa::BoolOp::AND}});
  m.e.builder().emit(Op::FSETP, {self, kTrue, a, Expansion::imm(kInfinity), zero},
                     {{Mod::Cmp, isa::FCmp::EQ}, {Mod::Bool, isa::BoolOp::OR}});
  return m.e.select(self, a, computed);
}

void divide(const FloatMacro& m, Operand result, Operand a, Operand b) {
  Expansion& e = m.e;
  e.builder().copy(result, fastQuotient(m, a, b));
  Operand isIrregular = e.builder().newP();
  e.builder().emit(Op::FCHK, {isIrregular, a, b});
  e.beginColdPath(isIrregular);
  e.deferSlowPath(result, {a, b});
  e.endColdPath();
}

void invert(const FloatMacro& m, Operand result, Operand b) {
  Expansion& e = m.e;
  Operand y = reciprocal(e, b);
  if (m.rounding != isa::Rnd::RN) y = e.fma(y, e.fma(b.negated(), y, kOne), y, m.rounding);
  e.builder().copy(result, y);
  // b is normal, and below 2^126 for a normal result. Doubling drops the sign.
  Operand twice = e.newR();
  e.builder().emit(Op::IADD3, {twice, kTrue, kTrue, b, Expansion::imm(-0x01000000u), b});
  e.beginColdPath(e.compare(isa::ICmp::GE, twice, Expansion::imm(2 * (0x7e800000u - 0x00800000u))));
  e.deferSlowPath(result, {b});
  e.endColdPath();
}

void extractRoot(const FloatMacro& m, Operand result, Operand a) {
  Expansion& e = m.e;
  e.builder().copy(result, scaledRoot(m, a));
  // The remainder is exact from 2^-101 on. As integers, negative numbers and NaN are greater than infinity.
  constexpr std::uint32_t kLeast = 0x0d000000, kInfinity = 0x7f800000;
  e.beginColdPath(e.compare(isa::ICmp::GE, e.add(a, Expansion::imm(-kLeast)), Expansion::imm(kInfinity - kLeast)));
  e.deferSlowPath(result, {a});
  e.endColdPath();
}

} // namespace

isa::Rnd roundingOf(const ori::Instr& macro) {
  switch (isa::modAs<isa::MacroKind>(macro, Mod::MacroKind)) {
  case isa::MacroKind::RM: return isa::Rnd::RM;
  case isa::MacroKind::RP: return isa::Rnd::RP;
  case isa::MacroKind::RZ: return isa::Rnd::RZ;
  default: return isa::Rnd::RN;
  }
}

namespace {

FloatMacro floatMacro(Expansion& e, const ori::Instr& macro) {
  ORIAS_CHECK(isa::modAs<isa::MacroType>(macro, Mod::MacroType) == isa::MacroType::F32);
  return {e, roundingOf(macro), isa::getMod(macro.op, macro.mods, Mod::Ftz) != 0};
}

} // namespace

void expandFloatMacro(ori::Function& function, ori::Instr* macro) {
  Expansion e(function, macro);
  const FloatMacro m = floatMacro(e, *macro);
  Operand a = e.source(1), result = e.newR();
  switch (macro->op) {
  case Op::FDIV: divide(m, result, a, e.source(2)); break;
  case Op::FRCP: invert(m, result, a); break;
  case Op::FSQRT: extractRoot(m, result, a); break;
  default: ORIAS_UNREACHABLE("this operation as an f32 macro");
  }
  e.give(result);
}

void expandSlowFloatMacro(ori::Function& function, ori::Instr* macro) {
  Expansion e(function, macro);
  const FloatMacro m = floatMacro(e, *macro);
  const auto source = [&](unsigned i) {
    constexpr std::uint32_t kSign = 0x80000000;
    const Operand o = macro->op_(i).value();
    std::optional<std::uint32_t> bits;
    if (o.isImm()) bits = (o.imm & (o.abs() ? ~kSign : ~0u)) ^ (o.neg() ? kSign : 0);
    const ori::Instr* from = o.isReg() && o.isVirtual() && !o.neg() && !o.abs() ? function.singleDef(o.reg) : nullptr;
    if (from) bits = numberSetBy(*from);
    if (bits && (*bits & 0x7f800000) == 0) bits.reset();
    return Source{e.source(i), bits};
  };
  Operand result = e.newR();
  switch (macro->op) {
  case Op::FDIV: {
    Source a = source(1);
    const Source b = source(2);
    if (b.bits) a.bits.reset();
    divideSlowly(m, result, a, b);
    break;
  }
  case Op::FRCP: divideSlowly(m, result, {e.constant(kOneBits), kOneBits}, {e.source(1), std::nullopt}); break;
  case Op::FSQRT: e.builder().copy(result, slowRoot(m, e.source(1))); break;
  default: ORIAS_UNREACHABLE("the slow path of this operation as an f32 macro");
  }
  e.give(result);
}

} // namespace orias::phases

#include "encoder/isa/desc.h"
#include "phases/expansion.h"

#include <bit>

// Integer division without a divider. A reciprocal of the divisor, a fixed-point number y <= Y = 2^n / b, is made from
// the f32 reciprocal and improved by y += y * (2^n - b * y) / 2^n. Then q = y * a / 2^n, corrected by a remainder.
//
// y never exceeds Y: the conversion rounds b up, the scaling rounds down, and the scale is less than 2^n by 2^-21, more
// than MUFU.RCP may be too large by (1 ulp, 2^-23). Hence 2^n - b * y is at least 0 and fits in n bits. y starts with
// an error of at most d0 = 2^-20 Y + 1, and one step leaves d^2 / Y + 1 (the 1 for truncation). n = 32: after one step
// d < 1.01 + 1/Y. n = 64: after two steps d < 1.01 + 1.44/Y for Y >= 5; for a smaller Y d0 is below 1.01 to begin with.
// q is less than a / b by d * a / 2^n and a truncation, so the quotient is too small by at most 2, which two
// conditional steps correct. For division by zero, which PTX leaves to the machine, quotient and remainder are all
// ones, as in the code of ptxas. 64-bit division branches first: where the upper words are zero, it uses 32-bit
// division. Compilers often make the same test before it; phases 49 and 58 then leave one of the tests and one path.

namespace orias::phases {

using isa::ICmp;
using isa::Mod;
using isa::Op;
using isa::Operand;

namespace {

struct Quotient {
  Operand quotient, remainder;
};

/// 2^n (1 - 2^-21) as f32 bits.
constexpr std::uint32_t scaleBits(unsigned n) {
  return std::bit_cast<std::uint32_t>(0x1.fffffp0f) + ((n - 1) << 23);
}

/// y <= 2^n / b, one or two words.
Operand firstReciprocal(Expansion& e, Operand b, unsigned n) {
  ori::Builder& builder = e.builder();
  const bool wide = n == 64;
  Operand real = e.newR(), scaled = e.newR(), y = e.newR(n / 32);
  builder.emit(wide ? Op::I2F_64 : Op::I2F, {real, b},
               {{Mod::DstFmt, isa::Fmt::F32},
                {Mod::SrcFmt, wide ? isa::IntFmt::U64 : isa::IntFmt::U32},
                {Mod::Rnd, isa::Rnd::RP}});
  Operand reciprocal = e.mufu(isa::Mufu::RCP, real);
  builder.emit(Op::FMUL, {scaled, reciprocal, Expansion::imm(scaleBits(n))}, {{Mod::Rnd, isa::Rnd::RZ}});
  builder.emit(wide ? Op::F2I_64 : Op::F2I, {y, scaled},
               {{Mod::DstFmt, wide ? isa::IntFmt::U64 : isa::IntFmt::U32},
                {Mod::SrcFmt, isa::Fmt::F32},
                {Mod::Round, isa::RoundInt::Trunc},
                {Mod::Ntz, wide ? 0 : 1}});
  return y;
}

Quotient divide32(Expansion& e, Operand a, Operand b) {
  Operand y = firstReciprocal(e, b, 32);
  Operand missing = e.multiply(e.add(Operand::rz(), b.negated()), y);
  y = e.add(y, e.multiplyHigh(y, missing));
  Operand q = e.multiplyHigh(y, a);
  Operand r = e.add(a, e.multiply(q, b).negated());
  for (int step = 0; step < 2; ++step) {
    Operand p = e.compare(ICmp::GE, r, b);
    r = e.select(p, e.add(r, b.negated()), r);
    q = e.select(p, e.add(q, Expansion::imm(1)), q);
  }
  return {q, r};
}

Quotient divide64(Expansion& e, Operand a, Operand b) {
  Operand y = firstReciprocal(e, b, 64);
  const Operand zero = Operand::rz(2);
  Operand minusB = e.add64(zero, b.negated());
  for (int step = 0; step < 2; ++step)
    y = e.add64(y, e.multiplyHigh64(y, e.multiply64(minusB, y)));
  Operand q = e.multiplyHigh64(y, a);
  Operand r = e.add64(a, e.multiply64(q, b).negated());
  Operand one = e.pair(e.constant(1), Operand::rz());
  for (int step = 0; step < 2; ++step) {
    Operand p = e.notLess64(r, b);
    r = e.select64(p, e.add64(r, b.negated()), r);
    q = e.select64(p, e.add64(q, one), q);
  }
  return {q, r};
}

/// Quotient or remainder of 64 bits, by all the steps.
Operand divideAny64(Expansion& e, Operand a, Operand b, bool isSigned, bool wantsRemainder) {
  Operand result;
  if (isSigned) {
    // The remainder has the sign of the dividend. The quotient is negative where the signs differ.
    Operand signA = e.signMask(Expansion::high(a)), signB = e.signMask(Expansion::high(b));
    const Quotient magnitude = divide64(e, e.negateWhere64(a, signA), e.negateWhere64(b, signB));
    result = wantsRemainder ? e.negateWhere64(magnitude.remainder, signA)
                            : e.negateWhere64(magnitude.quotient, e.bitXor(signA, signB));
  } else {
    const Quotient both = divide64(e, a, b);
    result = wantsRemainder ? both.remainder : both.quotient;
  }
  Operand ones = e.constant(~0u);
  Operand isZero = e.compare(ICmp::EQ, e.bitOr(Expansion::low(b), Expansion::high(b)), Operand::rz());
  return e.select64(isZero, e.pair(ones, ones), result);
}

void expand64(Expansion& e, Operand a, Operand b, bool isSigned, bool wantsRemainder) {
  Operand result = e.newR(2);
  e.beginColdPath(e.compare(ICmp::NE, e.bitOr(Expansion::high(a), Expansion::high(b)), Operand::rz()));
  e.builder().copy(result, divideAny64(e, a, b, isSigned, wantsRemainder));
  e.otherwise();
  const Quotient both = divide32(e, Expansion::low(a), Expansion::low(b));
  Operand isZero = e.compare(ICmp::EQ, Expansion::low(b), Operand::rz()), ones = e.constant(~0u);
  e.builder().copy(Expansion::low(result), e.select(isZero, ones, wantsRemainder ? both.remainder : both.quotient));
  e.builder().copy(Expansion::high(result), e.select(isZero, ones, Operand::rz()));
  e.endColdPath();
  e.give(result);
}

void expand32(Expansion& e, Operand a, Operand b, bool isSigned, bool wantsRemainder) {
  const Quotient both = isSigned ? divide32(e, e.absolute(a), e.absolute(b)) : divide32(e, a, b);
  Operand result = wantsRemainder ? both.remainder : both.quotient;
  if (isSigned) {
    Operand negative = e.compare(ICmp::LT, wantsRemainder ? a : e.bitXor(a, b), Operand::rz(), true);
    result = e.select(negative, e.add(Operand::rz(), result.negated()), result);
  }
  e.give(e.select(e.compare(ICmp::NE, b, Operand::rz()), result, Expansion::imm(~0u)));
}

} // namespace

void expandIntegerDivision(ori::Function& function, ori::Instr* macro, std::optional<std::uint64_t> divisor) {
  Expansion e(function, macro);
  const bool wantsRemainder = macro->op == Op::IREM;
  const auto type = isa::modAs<isa::MacroType>(*macro, Mod::MacroType);
  const bool isWide = type == isa::MacroType::U64 || type == isa::MacroType::S64;
  const bool isNarrow = type == isa::MacroType::U16 || type == isa::MacroType::S16;
  const bool isSigned = type == isa::MacroType::S64 || type == isa::MacroType::S32 || type == isa::MacroType::S16;
  Operand a = macro->op_(1).value(), b = macro->op_(2).value();
  if (isNarrow) a = e.extend16(a, isSigned);
  if (divisor) {
    if (isNarrow)
      divisor = isSigned ? static_cast<std::uint64_t>(static_cast<std::int16_t>(*divisor)) : *divisor & 0xffff;
    if (!isWide) divisor = static_cast<std::uint32_t>(*divisor);
    e.give(divideByConstant(e, a, *divisor, {isWide ? 64u : 32u, isSigned, wantsRemainder}));
    return;
  }
  if (isWide) {
    expand64(e, a, b, isSigned, wantsRemainder);
    return;
  }
  if (isNarrow) b = e.extend16(b, isSigned);
  expand32(e, a, b, isSigned, wantsRemainder);
}

} // namespace orias::phases

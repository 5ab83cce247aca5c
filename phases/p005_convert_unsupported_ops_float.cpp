#include "encoder/isa/desc.h"
#include "phases/expansion.h"
#include "support/check.h"

// Exactly rounded quotients and square roots of f32, computed in f64 and rounded once more when converted back.
//
// That the second rounding gives what rounding the true value once gives: the f64 result x is within 2^-53 (1 + 2^-40)
// of the true value t, relatively, and equal to it where f64 can hold t. The numbers at which rounding to f32 changes
// (its numbers and the midpoints between them) have at most 25 significant bits. Where t is not such a number m, it is
// farther from it than that:
//  - quotient t = a / b: |a - m b| is at least one unit of the product of a 25-bit and a 24-bit number: |t - m| >=
//  2^-49 t;
//  - root t = sqrt(a), m in [1, 2): a - m^2 is a multiple of 2^-48, and |t - m| = |a - m^2| / (t + m) >= 2^-50.
// So x and t lie on the same side of m, for all four roundings, and for subnormal results, where m has fewer bits, the
// more.
//
// x has that accuracy and is exact where it can be because its last step adds an exact remainder (a - b q, or a - g^2,
// which f64 holds for q and g within an ulp or so) times a reciprocal that is good to 2^-51: x = q + r y differs from t
// by 2^-51 |t - q| before it is rounded.

namespace orias::phases {

using isa::Mod;
using isa::Op;
using isa::Operand;

namespace {

const Operand kTrue = Operand::pt();

/// a / b in f64, for a and b that were f32.
Operand quotient(Expansion& e, Operand a, Operand b) {
  const Operand one = Expansion::f64High(1.0);
  // Of 20 good bits, and then 40 and 53. f32 cannot bring it near the ends of f64's range.
  Operand y0 = e.pair(Operand::rz(), e.mufu(isa::Mufu::RCP64H, Expansion::high(b)));
  Operand y1 = e.dfma(y0, e.dfma(b.negated(), y0, one), y0);
  Operand y2 = e.dfma(y1, e.dfma(b.negated(), y1, one), y1);
  Operand q = e.dmul(a, y2);
  Operand exact = e.dfma(e.dfma(b.negated(), q, a), y2, q);
  // The crude quotient is 0, infinite or NaN exactly when one of the two is, and is then the result: its magnitude's
  // high word is not in 1 .. 0x7fefffff.
  Operand crude = e.dmul(a, y0);
  Operand magnitude = e.bitAnd(Expansion::high(crude), Expansion::imm(0x7fffffff));
  Operand regular = e.compare(isa::ICmp::LT, e.add(magnitude, Expansion::imm(0xffffffff)), Expansion::imm(0x7fefffff));
  return e.select64(regular, exact, crude);
}

/// sqrt(a) in f64, for a positive a that was f32; NaN for negative ones.
Operand root(Expansion& e, Operand a) {
  const Operand half = Expansion::f64High(0.5);
  Operand y = e.pair(Operand::rz(), e.mufu(isa::Mufu::RSQ64H, Expansion::high(a)));
  Operand g = e.dmul(a, y), h = e.dmul(y, half);
  for (int step = 0; step < 2; ++step) {
    Operand r = e.dfma(g.negated(), h, half);
    g = e.dfma(g, r, g);
    h = e.dfma(h, r, h);
  }
  return e.dfma(e.dfma(g.negated(), g, a), h, g);
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

void expandFloatMacro(ori::Function& function, ori::Instr* macro) {
  ORIAS_CHECK(isa::modAs<isa::MacroType>(*macro, Mod::MacroType) == isa::MacroType::F32);
  Expansion e(function, macro);
  const bool ftz = isa::getMod(macro->op, macro->mods, Mod::Ftz) != 0;
  auto source = [&](unsigned i) {
    Operand o = macro->op_(i).value();
    return ftz ? e.flush(o) : o;
  };
  Operand a = source(1), result;
  if (macro->op == Op::FSQRT) {
    result = e.toF32(root(e, e.toF64(a)), roundingOf(*macro));
    // Zeros and infinity are their own roots.
    Operand zero = e.builder().newP(), self = e.builder().newP();
    constexpr std::uint32_t kInfinity = 0x7f800000;
    e.builder().emit(Op::FSETP, {zero, kTrue, a, Operand::rz(), kTrue},
                     {{Mod::Cmp, isa::FCmp::EQ}, {Mod::Bool, isa::BoolOp::AND}});
    e.builder().emit(Op::FSETP, {self, kTrue, a, Expansion::imm(kInfinity), zero},
                     {{Mod::Cmp, isa::FCmp::EQ}, {Mod::Bool, isa::BoolOp::OR}});
    e.give(e.select(self, a, result));
    return;
  }
  ORIAS_CHECK(macro->op == Op::FDIV || macro->op == Op::FRCP);
  Operand dividend, divisor;
  if (macro->op == Op::FRCP) {
    dividend = e.pair(Operand::rz(), e.constant(0x3ff00000));
    divisor = e.toF64(a);
  } else {
    dividend = e.toF64(a);
    divisor = e.toF64(source(2));
  }
  result = e.toF32(quotient(e, dividend, divisor), roundingOf(*macro));
  e.give(ftz ? e.flush(result) : result);
}

} // namespace orias::phases

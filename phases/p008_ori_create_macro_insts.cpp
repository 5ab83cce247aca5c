// The approximate functions of PTX: one special-function operation each, with scaling around it. The sequences are
// those that ptxas emits for sm_90 (observed).

#include "encoder/isa/desc.h"
#include "phases/expansion.h"
#include "phases/phases.h"
#include "support/check.h"

#include <bit>

namespace orias::phases {

using isa::Mod;
using isa::Op;
using isa::Operand;

namespace {

constexpr float kSmallestNormal = 0x1p-126f;
const Operand kTrue = Operand::pt();

Operand real(float value) {
  return Expansion::imm(std::bit_cast<std::uint32_t>(value));
}

/// Expands one macro. The special function unit reads subnormal inputs as zero and flushes subnormal results. Without
/// .ftz, where that matters, the input is scaled away from that range and the result is scaled back.
class Approximation {
 public:
  Approximation(ori::Function& function, ori::Instr* macro)
      : macro_(*macro), e_(function, macro), b_(e_.builder()),
        isFlushing_(isa::getMod(macro->op, macro->mods, Mod::Ftz) != 0) {}

  void run() {
    const Operand a = macro_.op_(1).value();
    e_.give(isa::modAs<isa::MacroType>(macro_, Mod::MacroType) == isa::MacroType::F64 ? ofHighWord(a) : ofWord(a));
  }

 private:
  Operand ofWord(Operand a) {
    switch (macro_.op) {
    case Op::FDIV: return quotient(a, macro_.op_(2).value());
    case Op::FRCP: return reciprocal(a);
    case Op::FRSQRT: return scaled(isa::Mufu::RSQ, a, 0x1p12f);
    case Op::FSQRT: return scaled(isa::Mufu::SQRT, a, 0x1p-12f);
    case Op::FLG2: return scaled(isa::Mufu::LG2, a, -24.0f);
    case Op::FEX2: return power(a);
    case Op::FSIN: return ofTurns(isa::Mufu::SIN, a);
    case Op::FCOS: return ofTurns(isa::Mufu::COS, a);
    default: ORIAS_UNREACHABLE("an approximation of this operation");
    }
  }

  /// PTX defines the f64 approximation by the high word; the low word of the result is 0.
  Operand ofHighWord(Operand a) {
    const isa::Mufu function = macro_.op == Op::FRCP ? isa::Mufu::RCP64H : isa::Mufu::RSQ64H;
    Operand high = e_.mufu(function, Expansion::high(a));
    return e_.pair(Operand::rz(), high);
  }

  /// a * (1/b), with both scaled alike where the reciprocal would be flushed to zero or overflow. The scale is a
  /// separate value, so that quotients by the same number share the scale and the reciprocal.
  Operand quotient(Operand a, Operand b) {
    const bool isFull = isa::modAs<isa::MacroKind>(macro_, Mod::MacroKind) == isa::MacroKind::Full;
    if (isFlushing_ && isFull) {
      Operand dividend = copyOf(a), divisor = copyOf(b), where = compareMagnitude(b, isa::FCmp::GT, 0x1p126f);
      scaleWhere(where, divisor, 0.25f);
      scaleWhere(where, dividend, 0.25f);
      return lastProduct(e_.mufu(isa::Mufu::RCP, divisor), dividend);
    }
    if (isFlushing_) return lastProduct(e_.mufu(isa::Mufu::RCP, b), a);
    Operand scale = scaleUnless(compareMagnitude(b, isa::FCmp::GEU, kSmallestNormal), 0x1p24f, real(1.0f));
    if (isFull) scale = scaleUnless(compareMagnitude(b, isa::FCmp::GT, 0x1p126f).notted(), 0.25f, scale);
    Operand divisor = product(b, scale), dividend = product(a, scale);
    return lastProduct(e_.mufu(isa::Mufu::RCP, divisor), dividend);
  }

  Operand reciprocal(Operand a) {
    if (isFlushing_) return e_.mufu(isa::Mufu::RCP, a);
    Operand scale = scaleUnless(compareMagnitude(a, isa::FCmp::GEU, kSmallestNormal), 0x1p24f, real(1.0f));
    scale = scaleUnless(compareMagnitude(a, isa::FCmp::GT, 0x1p126f).notted(), 0.25f, scale);
    return lastProduct(scale, e_.mufu(isa::Mufu::RCP, product(a, scale)));
  }

  /// A function of a * 2^24 where a is subnormal, corrected by `down`: a factor, or an addend for a logarithm.
  Operand scaled(isa::Mufu function, Operand a, float down) {
    if (isFlushing_) return e_.mufu(function, a);
    Operand x = copyOf(a), tiny = isTiny(a);
    scaleWhere(tiny, x, 0x1p24f);
    Operand y = e_.mufu(function, x);
    if (function != isa::Mufu::LG2) {
      scaleWhere(tiny, y, down);
      return y;
    }
    b_.setGuard(tiny);
    b_.emit(Op::FADD, {y, y, real(down)});
    b_.setGuard(kTrue);
    return y;
  }

  /// 2^a, computed as the square of 2^(a/2) where 2^a is subnormal.
  Operand power(Operand a) {
    if (isFlushing_) return e_.mufu(isa::Mufu::EX2, a);
    Operand x = copyOf(a), high = b_.newP();
    b_.emit(Op::FSETP, {high, kTrue, a, real(-126.0f), kTrue},
            {{Mod::Cmp, isa::FCmp::GEU}, {Mod::Bool, isa::BoolOp::AND}});
    scaleWhere(high.notted(), x, 0.5f);
    Operand y = e_.mufu(isa::Mufu::EX2, x);
    b_.setGuard(high.notted());
    b_.emit(Op::FMUL, {y, y, y});
    b_.setGuard(kTrue);
    return y;
  }

  /// The special function unit takes turns instead of radians.
  Operand ofTurns(isa::Mufu function, Operand a) {
    Operand turns = e_.newR();
    b_.emit(Op::FMUL, {turns, a, real(0.15915493667125701904f)}, {{Mod::Rnd, isa::Rnd::RZ}});
    return e_.mufu(function, turns);
  }

  Operand copyOf(Operand a) {
    Operand r = e_.newR();
    b_.copy(r, a);
    return r;
  }

  Operand product(Operand a, Operand b, bool mayContract = false) {
    Operand r = e_.newR();
    b_.emit(Op::FMUL, {r, a, b}, {{Mod::Ftz, isFlushing_ ? 1 : 0}})->mayContract = mayContract;
    return r;
  }
  /// The result as a product. It may be contracted into a sum if the macro allows contraction.
  Operand lastProduct(Operand a, Operand b) { return product(a, b, macro_.mayContract); }

  /// A predicate: |a| `cmp` limit.
  Operand compareMagnitude(Operand a, isa::FCmp cmp, float limit) {
    Operand p = b_.newP();
    b_.emit(Op::FSETP, {p, kTrue, a.absolute(), real(limit), kTrue},
            {{Mod::Cmp, cmp}, {Mod::Bool, isa::BoolOp::AND}, {Mod::Ftz, isFlushing_ ? 1 : 0}});
    return p;
  }
  Operand isTiny(Operand a) { return compareMagnitude(a, isa::FCmp::GEU, kSmallestNormal).notted(); }

  /// Returns `otherwise` where p holds, else the factor.
  Operand scaleUnless(Operand p, float factor, Operand otherwise) {
    Operand scale = e_.newR();
    if (otherwise.isReg())
      b_.emit(Op::FSEL, {scale, otherwise, real(factor), p});
    else
      b_.emit(Op::FSEL, {scale, e_.constant(std::bit_cast<std::uint32_t>(factor)), otherwise, p.notted()});
    return scale;
  }

  /// r *= factor where p holds.
  void scaleWhere(Operand p, Operand r, float factor) {
    b_.setGuard(p);
    b_.emit(Op::FMUL, {r, r, real(factor)}, {{Mod::Ftz, isFlushing_ ? 1 : 0}});
    b_.setGuard(kTrue);
  }

  const ori::Instr& macro_;
  Expansion e_;
  ori::Builder& b_;
  bool isFlushing_;
};

} // namespace

bool isApproximation(const ori::Instr& instr) {
  if (isa::desc(instr.op).modIndex(Mod::MacroKind) < 0) return false;
  const auto kind = isa::modAs<isa::MacroKind>(instr, Mod::MacroKind);
  return kind == isa::MacroKind::Approx || kind == isa::MacroKind::Full;
}

/// Phase 8. Expands the functions that PTX defines as approximations into special-function instructions and the scaling
/// around them.
bool oriCreateMacroInsts(ori::Function& function, PhaseContext&) {
  bool changed = false;
  for (ori::Block* block : function.layout())
    function.forEachSafe(*block, [&](ori::Instr& instr) {
      if (!isApproximation(instr)) return;
      Approximation(function, &instr).run();
      changed = true;
    });
  return changed;
}

} // namespace orias::phases

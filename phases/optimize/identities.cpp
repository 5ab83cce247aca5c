// Floating-point products with 1 and -1, and minima and maxima of equal operands.

#include "encoder/isa/desc.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// Whether this is an f32 or f64 operation that returns the canonical NaN and treats all NaNs alike.
bool isArithmetic(Op op) {
  switch (op) {
  case Op::FADD:
  case Op::FMUL:
  case Op::FFMA:
  case Op::FMNMX:
  case Op::MUFU:
  case Op::DADD:
  case Op::DMUL:
  case Op::DFMA: return true;
  default: return false;
  }
}

bool isComparison(Op op) {
  return op == Op::FSETP || op == Op::DSETP;
}

/// The operation makes a NaN canonical, and a copy does not. Returns true if no use can see the difference: the operand
/// is a result of arithmetic itself, or all uses are arithmetic.
bool isCanonicalAnyway(const Rewriter& rw, const Operand& operand, const Operand& result) {
  const Definition def = rw.definition(operand);
  if (def && (isArithmetic(def.instr->op) || def.instr->op == Op::I2F)) return true;
  bool isArithmeticOnly = true;
  rw.function().forEachUse(result.reg, [&](ori::Ref use) {
    isArithmeticOnly = isArithmeticOnly && (isArithmetic(use.owner->op) || isComparison(use.owner->op));
  });
  return isArithmeticOnly;
}

constexpr std::uint32_t kSign = 0x80000000;

/// Whether a factor is 1, or with `sign` -1.
bool isOne(const Rewriter& rw, const Instr& instr, unsigned slot, std::uint32_t sign = 0) {
  constexpr std::uint32_t kOne = 0x3f800000, kHighWordOfOne = 0x3ff00000;
  const Operand operand = instr.op_(slot).value();
  if (operand.neg() || operand.abs()) return false;
  if (instr.op == Op::FMUL) return rw.constantOf(operand) == (kOne | sign);
  return operand.isImm() && static_cast<std::uint32_t>(operand.imm) == (kHighWordOfOne | sign);
}

/// Whether this is an f32 product without saturation or scale.
bool isPlainProduct(const Instr& instr) {
  constexpr int kNoScale = 4;
  return instr.op == Op::FMUL && isa::getMod(instr.op, instr.mods, Mod::Sat) == 0 &&
         isa::getMod(instr.op, instr.mods, Mod::Sub) == kNoScale;
}

/// x * -1 becomes -x + -0, which its uses absorb as a sign (float_signs.cpp).
bool becomeNegation(Rewriter& rw, Instr& instr) {
  if ((!isPlainProduct(instr) && instr.op != Op::DMUL) || !isOne(rw, instr, 2, kSign)) return false;
  const Operand result = instr.op_(0).value(), x = instr.op_(1).value();
  if (!x.isReg(isa::File::R) || x.half != Operand::Half::None) return false;
  if (instr.op == Op::DMUL) {
    rw.rewrite(instr, Op::DADD, {result, Operand::rz(2).negated(), x.negated()});
    return true;
  }
  const std::uint8_t flush = isa::getMod(instr.op, instr.mods, Mod::Ftz);
  if (flush > static_cast<std::uint8_t>(isa::Ftz::FTZ)) return false;
  rw.rewrite(instr, Op::FADD, {result, x.negated(), Operand::rz().negated()}, {{Mod::Ftz, flush}});
  return true;
}

/// The operand that a product, minimum or maximum is equal to.
std::optional<Operand> equalOperand(const Rewriter& rw, const Instr& instr) {
  const Operand a = instr.op_(1).value(), b = instr.op_(2).value();
  switch (instr.op) {
  case Op::FMUL:
    if (!isPlainProduct(instr) || isa::getMod(instr.op, instr.mods, Mod::Ftz) != 0) return std::nullopt;
    [[fallthrough]];
  case Op::DMUL:
    if (isOne(rw, instr, 2)) return a;
    if (isOne(rw, instr, 1)) return b;
    return std::nullopt;
  case Op::FMNMX:
    if (isa::getMod(instr.op, instr.mods, Mod::Ftz) != 0 || isa::getMod(instr.op, instr.mods, Mod::XorSign) != 0)
      return std::nullopt;
    return a == b ? std::optional(a) : std::nullopt;
  case Op::VIMNMX:
    if (isa::getMod(instr.op, instr.mods, Mod::Relu) != 0) return std::nullopt;
    [[fallthrough]];
  case Op::IMNMX: return a == b ? std::optional(a) : std::nullopt;
  default: return std::nullopt;
  }
}

} // namespace

bool dropIdentity(Rewriter& rw, Instr& instr) {
  if (becomeNegation(rw, instr)) return true;
  const auto operand = equalOperand(rw, instr);
  if (!operand || !operand->isReg() || operand->neg() || operand->abs() || operand->inverted()) return false;
  const Operand result = instr.op_(0).value();
  if (!operand->isVirtual() || !rw.isStable(*operand) || !result.isVirtual() || operand->width != result.width)
    return false;
  if (instr.op != Op::VIMNMX && instr.op != Op::IMNMX && !isCanonicalAnyway(rw, *operand, result)) return false;
  rw.becomeCopy(instr, *operand);
  return true;
}

} // namespace orias::phases

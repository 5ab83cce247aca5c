// Lower bounds of f32 values.

#include "encoder/isa/desc.h"
#include "phases/optimize/known_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kDepth = 4; ///< how many definitions in sequence are followed
constexpr float kNone = -std::numeric_limits<float>::infinity();

float leastOf(const Rewriter& rw, const Operand& operand, unsigned depth);

bool roundsToNearest(const Instr& instr) {
  return isa::modAs<isa::Rnd>(instr, Mod::Rnd) == isa::Rnd::RN;
}

/// Rounding to nearest is monotonic, so bounds are rounded like the values.
float leastOfSum(float a, float b) {
  return a == kNone || b == kNone ? kNone : a + b;
}

float leastOfProduct(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const Operand a = instr.op_(1).value(), b = instr.op_(2).value();
  if (a == b && a.isReg()) return 0.0f;
  const float x = leastOf(rw, a, depth), y = leastOf(rw, b, depth);
  return x >= 0.0f && y >= 0.0f ? x * y : kNone;
}

float leastOfResult(const Rewriter& rw, const Instr& instr, unsigned depth) {
  // This is also the result for a NaN.
  if (isa::desc(instr.op).modIndex(Mod::Sat) >= 0 && isa::getMod(instr.op, instr.mods, Mod::Sat) != 0) return kNone;
  switch (instr.op) {
  case Op::MUFU: {
    const auto function = isa::modAs<isa::Mufu>(instr, Mod::Func);
    const bool isNeverNegative =
        function == isa::Mufu::EX2 || function == isa::Mufu::RSQ || function == isa::Mufu::SQRT;
    return isNeverNegative ? 0.0f : kNone;
  }
  case Op::FADD:
    if (!roundsToNearest(instr)) return kNone;
    return leastOfSum(leastOf(rw, instr.op_(1).value(), depth), leastOf(rw, instr.op_(2).value(), depth));
  case Op::FMUL: return roundsToNearest(instr) ? leastOfProduct(rw, instr, depth) : kNone;
  case Op::FFMA:
    if (!roundsToNearest(instr)) return kNone;
    // The sum of the rounded bound of the product could exceed the result that is rounded once.
    return leastOfSum(std::min(leastOfProduct(rw, instr, depth), 0.0f), leastOf(rw, instr.op_(3).value(), depth));
  case Op::FSEL: return std::min(leastOf(rw, instr.op_(1).value(), depth), leastOf(rw, instr.op_(2).value(), depth));
  case Op::COPY: return leastOf(rw, instr.op_(1).value(), depth);
  default: return kNone;
  }
}

float leastOf(const Rewriter& rw, const Operand& operand, unsigned depth) {
  if (const auto bits = rw.constantOf(operand)) {
    const auto value = std::bit_cast<float>(*bits);
    return std::isnan(value) ? kNone : value;
  }
  if (!operand.isReg(File::R) || operand.width != 1 || operand.half != Operand::Half::None || operand.inverted())
    return kNone;
  float least = kNone;
  if (depth > 0 && operand.isVirtual() && !operand.neg() && rw.function().vreg(operand.reg).width == 1) {
    least = std::numeric_limits<float>::infinity();
    rw.function().forEachDef(operand.reg,
                             [&](ori::Ref def) { least = std::min(least, leastOfResult(rw, *def.owner, depth - 1)); });
    if (least == std::numeric_limits<float>::infinity()) least = kNone;
  }
  if (operand.abs() && !operand.neg()) least = std::max(least, 0.0f);
  // A result may be flushed to zero.
  return least > 0.0f && least < std::numeric_limits<float>::min() ? 0.0f : least;
}

} // namespace

float leastNumber(const Rewriter& rw, const Operand& operand) {
  return leastOf(rw, operand, kDepth);
}

} // namespace orias::phases

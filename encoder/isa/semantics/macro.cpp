// The pseudo arithmetic of Ori, which phases expand. A division by zero, which PTX leaves undefined, gives all ones, as
// in ptxas' sequences.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

#include <cmath>

namespace orias::isa::semantics {

namespace {

unsigned bitsOfMacro(MacroType type) {
  switch (type) {
  case MacroType::U16:
  case MacroType::S16: return 16;
  case MacroType::U64:
  case MacroType::S64:
  case MacroType::F64: return 64;
  default: return 32;
  }
}

/// The magnitude of a number in two's complement.
std::uint64_t magnitude(std::int64_t v) {
  const auto bits = static_cast<std::uint64_t>(v);
  return v < 0 ? 0 - bits : bits;
}

/// The quotient, or the remainder, which has the sign of the dividend.
void divide(const Inst& inst, LaneValues& values, bool wantsRemainder) {
  Lane lane(inst, values);
  const auto type = lane.modAs<MacroType>(Mod::MacroType);
  const unsigned bits = bitsOfMacro(type);
  const bool isSigned = type == MacroType::S16 || type == MacroType::S32 || type == MacroType::S64;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  const std::uint64_t a = lane.u64(1) & mask, b = lane.u64(2) & mask;
  std::uint64_t result = ~std::uint64_t{0};
  if (b != 0) {
    const bool aNegative = isSigned && (a >> (bits - 1)) != 0, bNegative = isSigned && (b >> (bits - 1)) != 0;
    const std::uint64_t x = aNegative ? magnitude(signedOf(a, bits)) : a,
                        y = bNegative ? magnitude(signedOf(b, bits)) : b;
    result = wantsRemainder ? x % y : x / y;
    if (wantsRemainder ? aNegative : aNegative != bNegative) result = 0 - result;
  }
  // Narrow results are extended according to their type.
  if (isSigned)
    result = static_cast<std::uint64_t>(signedOf(result & mask, bits));
  else
    result &= mask;
  if (bits == 64)
    lane.set64(0, result);
  else
    lane.set(0, static_cast<std::uint32_t>(result));
}

bool isApproximate(MacroKind kind) {
  return kind == MacroKind::Approx || kind == MacroKind::Full;
}

/// Computes a macro on one or two numbers of its type: the exact function, or an f32 approximation.
template <typename Exact, typename Approximate>
void compute(const Inst& inst, LaneValues& values, Exact exact, Approximate approximate) {
  Lane lane(inst, values);
  const auto kind = lane.modAs<MacroKind>(Mod::MacroKind);
  const auto rounding = isApproximate(kind) ? Rounding::NearestEven : static_cast<Rounding>(kind);
  if (lane.modAs<MacroType>(Mod::MacroType) == MacroType::F64) {
    if (isApproximate(kind)) throwUnsupported(inst, "an approximation of f64");
    return lane.setF64(0, exact(lane.f64(1), lane.f64(2), rounding));
  }
  const bool flush = lane.mod(Mod::Ftz) != 0;
  const float a = lane.f32(1, flush), b = lane.f32(2, flush);
  lane.setF32(0, isApproximate(kind) ? approximate(a, b, kind) : exact(a, b, rounding), flush, false);
}

double exactQuotient(const Inst&, double a, double b, Rounding rounding) {
  return ieee::div(a, b, rounding);
}
float exactQuotient(const Inst& inst, float a, float b, Rounding rounding) {
  return isa::getMod(inst, Mod::Ftz) != 0 ? ieee::divFlushed(a, b, rounding) : ieee::div(a, b, rounding);
}

/// The dividend times the reciprocal; .FULL scales both to keep the reciprocal normal.
float approximateQuotient(float a, float b, MacroKind kind) {
  if (kind == MacroKind::Full && std::isfinite(b)) {
    const float scale = std::fabs(b) > 0x1p126f ? 0.25f : std::fabs(b) < 0x1p-126f ? 0x1p24f : 1.0f;
    a = ieee::mul(a, scale), b = ieee::mul(b, scale);
  }
  return ieee::mul(a, ieee::approx::rcp(b));
}

/// Computes a macro without an exact form.
template <typename Approximate> void approximation(const Inst& inst, LaneValues& values, Approximate approximate) {
  compute(
      inst, values,
      [&](auto a, auto, Rounding) {
        throwUnsupported(inst, "this function, exactly rounded");
        return a;
      },
      [&](float a, float, MacroKind) { return approximate(a); });
}

/// An angle in full turns, as phase 8 passes it to MUFU, which treats subnormals as zero.
float turns(float radians) {
  return ieee::flush(ieee::mul(radians, 0.15915493667125701904f, Rounding::TowardZero));
}

} // namespace

void iadd64(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set64(0, lane.u64(1) + lane.u64(2));
}

void imul64(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set64(0, lane.u64(1) * lane.u64(2));
}

void imad64(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set64(0, lane.u64(1) * lane.u64(2) + lane.u64(3));
}

void idiv(const Inst& inst, LaneValues& values) {
  divide(inst, values, false);
}

void irem(const Inst& inst, LaneValues& values) {
  divide(inst, values, true);
}

void fdiv(const Inst& inst, LaneValues& values) {
  compute(
      inst, values, [&](auto a, auto b, Rounding rounding) { return exactQuotient(inst, a, b, rounding); },
      approximateQuotient);
}

void frcp(const Inst& inst, LaneValues& values) {
  compute(
      inst, values,
      [&](auto a, auto, Rounding rounding) { return exactQuotient(inst, static_cast<decltype(a)>(1), a, rounding); },
      [](float a, float, MacroKind) { return ieee::approx::rcp(a); });
}

void fsqrt(const Inst& inst, LaneValues& values) {
  compute(
      inst, values, [](auto a, auto, Rounding rounding) { return ieee::sqrt(a, rounding); },
      [](float a, float, MacroKind) { return ieee::approx::sqrt(a); });
}

void frsqrt(const Inst& inst, LaneValues& values) {
  approximation(inst, values, [](float a) { return ieee::approx::rsqrt(a); });
}

void flg2(const Inst& inst, LaneValues& values) {
  approximation(inst, values, [](float a) { return ieee::approx::lg2(a); });
}

void fex2(const Inst& inst, LaneValues& values) {
  approximation(inst, values, [](float a) { return ieee::approx::ex2(a); });
}

void fsin(const Inst& inst, LaneValues& values) {
  approximation(inst, values, [](float a) { return ieee::flush(ieee::approx::sinTurns(turns(a))); });
}

void fcos(const Inst& inst, LaneValues& values) {
  approximation(inst, values, [](float a) { return ieee::flush(ieee::approx::cosTurns(turns(a))); });
}

} // namespace orias::isa::semantics

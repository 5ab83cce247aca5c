// Single-precision arithmetic.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

#include <cmath>

namespace orias::isa::semantics {

namespace {

bool flushes(const Lane& lane) {
  return lane.modAs<Ftz>(Mod::Ftz) != Ftz::None;
}

/// .FMZ: a product with a zero factor is +0, regardless of the other factor.
bool isZeroProduct(const Lane& lane, float a, float b) {
  return lane.modAs<Ftz>(Mod::Ftz) == Ftz::FMZ && (a == 0 || b == 0);
}

/// The factor of FMUL's scale.
double scaleOf(const Lane& lane) {
  // !|D8|D4|D2|1|M2|M4|M8
  return std::ldexp(1.0, static_cast<int>(lane.mod(Mod::Sub)) - 4);
}

/// Half of a double-precision MUFU: the high word of function(x), where x is the double with this high word.
template <typename Function> std::uint32_t onHighWord(Bits highWord, Function function) {
  const double value = ieee::doubleOf(ieee::flush(Format::F64, highWord << 32));
  return static_cast<std::uint32_t>(ieee::bitsOf(function(value)) >> 32);
}

int exponentOf(Bits f32) {
  return static_cast<int>(f32 >> 23 & 0xff);
}

} // namespace

void fadd(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane);
  lane.setF32(0, ieee::add(lane.f32(1, flush), lane.f32(2, flush), lane.rounding()), flush, lane.mod(Mod::Sat) != 0);
}

void fmul(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane), saturates = lane.mod(Mod::Sat) != 0;
  const float a = lane.f32(1, flush), b = lane.f32(2, flush);
  if (isZeroProduct(lane, a, b)) return lane.set(0, 0);
  const double scale = scaleOf(lane);
  // A double holds the product and its scaling exactly.
  const float product = scale == 1 ? ieee::mul(a, b, lane.rounding())
                                   : ieee::toFloat(ieee::toDouble(a) * ieee::toDouble(b) * scale, lane.rounding());
  lane.setF32(0, product, flush, saturates);
}

void ffma(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane), saturates = lane.mod(Mod::Sat) != 0;
  const float a = lane.f32(1, flush), b = lane.f32(2, flush), c = lane.f32(3, flush);
  const float sum =
      isZeroProduct(lane, a, b) ? ieee::add(0.0f, c, lane.rounding()) : ieee::fma(a, b, c, lane.rounding());
  lane.setF32(0, sum, flush, saturates);
}

namespace {

/// One of the two numbers of a source, which is read as its words, the words swapped, or one word for both.
float ofPair(const Lane& lane, unsigned slot, unsigned word, Mod words, bool flush) {
  constexpr unsigned kLowHigh = 1, kOneWord = 2;
  const Operand& o = lane.operand(slot);
  const unsigned order = o.isImm() ? kOneWord : lane.mod(words);
  if (order > kOneWord) throwUnsupported(lane.inst(), "NP");
  const unsigned index = order == kOneWord ? 0 : order == kLowHigh ? 1 - word : word;
  Bits bits = lane.value(slot).w[index];
  if (o.abs()) bits &= 0x7fffffff;
  if (o.neg()) bits ^= 0x80000000;
  return ieee::floatOf(flush ? ieee::flush(Format::F32, bits) : bits);
}

template <typename Compute> void setPair(Lane& lane, bool flush, Compute compute) {
  std::uint64_t both = 0;
  for (unsigned word = 0; word < 2; ++word) {
    const float result = compute(word);
    both |= ieee::bitsOf(flush ? ieee::flush(result) : result) << 32 * word;
  }
  lane.set64(0, both);
}

/// An f16 or bf16 source, from the low or high half of a register.
float mixedFactor(const Lane& lane, unsigned slot, Mod part) {
  const Operand& o = lane.operand(slot);
  Bits bits = lane.raw(slot) >> (lane.mod(part) != 0 ? 16 : 0) & 0xffff;
  if (o.abs()) bits &= 0x7fff;
  if (o.neg()) bits ^= 0x8000;
  return ieee::floatOf(ieee::convert(Format::F32, lane.mod(Mod::Bf16) != 0 ? Format::BF16 : Format::F16, bits));
}

} // namespace

void fadd2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane);
  setPair(lane, flush, [&](unsigned word) {
    return ieee::add(ofPair(lane, 1, word, Mod::Sub, flush), ofPair(lane, 2, word, Mod::Sub2, flush), lane.rounding());
  });
}

void fmul2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane);
  setPair(lane, flush, [&](unsigned word) {
    return ieee::mul(ofPair(lane, 1, word, Mod::Sub, flush), ofPair(lane, 2, word, Mod::Sub2, flush), lane.rounding());
  });
}

void ffma2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane);
  setPair(lane, flush, [&](unsigned word) {
    const float a = ofPair(lane, 1, word, Mod::Sub, flush), b = ofPair(lane, 2, word, Mod::Sub2, flush);
    const float c = ofPair(lane, 3, word, Mod::Sub3, flush);
    return isZeroProduct(lane, a, b) ? ieee::add(0.0f, c, lane.rounding()) : ieee::fma(a, b, c, lane.rounding());
  });
}

void fhadd(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.setF32(0, ieee::add(mixedFactor(lane, 1, Mod::Sub), lane.f32(2, false), lane.rounding()), false,
              lane.mod(Mod::Sat) != 0);
}

void fhfma(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const float a = mixedFactor(lane, 1, Mod::Sub), b = mixedFactor(lane, 2, Mod::Sub2);
  lane.setF32(0, ieee::fma(a, b, lane.f32(3, false), lane.rounding()), false, lane.mod(Mod::Sat) != 0);
}

void fmnmx(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane), nanWins = lane.mod(Mod::Nan) != 0;
  const float a = lane.f32(1, flush), b = lane.f32(2, flush);
  float result = lane.pred(3) ? ieee::minimum(a, b, nanWins) : ieee::maximum(a, b, nanWins);
  if (lane.mod(Mod::XorSign) != 0 && result == result) {
    // ptxas uses |Ra| and |Rb| as operands; the signs are those of the registers.
    const Bits sign = (lane.raw(1) ^ lane.raw(2)) & 0x80000000;
    result = ieee::floatOf((ieee::bitsOf(result) & 0x7fffffff) | sign);
  }
  lane.set(0, static_cast<std::uint32_t>(ieee::bitsOf(result)));
}

void fsel(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Bits chosen = lane.number(lane.pred(3) ? 1 : 2, Format::F32, flushes(lane));
  lane.set(0, static_cast<std::uint32_t>(chosen));
}

void fsetp(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane);
  const bool result = compares(lane.modAs<FCmp>(Mod::Cmp), Format::F32, lane.number(2, Format::F32, flush),
                               lane.number(3, Format::F32, flush));
  lane.setComparison(0, result, lane.pred(4));
}

void fset(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = flushes(lane);
  const bool result = compares(lane.modAs<FCmp>(Mod::Cmp), Format::F32, lane.number(1, Format::F32, flush),
                               lane.number(2, Format::F32, flush));
  lane.set(0, lane.combine(result, lane.pred(3)) ? 0x3f800000 : 0);
}

namespace {

/// EX2 and TANH of one half. The upper half of the result is unknown, and code does not read it.
std::uint32_t mufuOfHalf(const Inst& inst, const Lane& lane, unsigned shift) {
  // 1 and 3: F16 and F16x2.
  const Format format = lane.mod(Mod::FuncFmt) % 2 != 0 ? Format::F16 : Format::BF16;
  Bits number = lane.raw(1) >> shift & 0xffff;
  if (lane.operand(1).abs()) number &= 0x7fff;
  if (lane.operand(1).neg()) number ^= 0x8000;
  const float a = ieee::floatOf(ieee::convert(Format::F32, format, number));
  const auto function = lane.modAs<Mufu>(Mod::Func);
  if (function != Mufu::EX2 && function != Mufu::TANH) throwUnsupported(inst, "this function of a half");
  const float exact = function == Mufu::EX2 ? ieee::approx::ex2(a) : ieee::approx::tanh(a);
  return static_cast<std::uint32_t>(ieee::convert(format, Format::F32, ieee::bitsOf(exact)));
}

} // namespace

void mufuUpper(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, mufuOfHalf(inst, lane, 16));
}

void mufuPair(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, mufuOfHalf(inst, lane, 16) << 16 | mufuOfHalf(inst, lane, 0));
}

void mufu(const Inst& inst, LaneValues& values) {
  // The last bits of the results may differ from the hardware's (support/ieee.h). Subnormal operands and results become
  // zero, except for TANH: for the other functions ptxas adds scaling if PTX requires subnormals.
  Lane lane(inst, values);
  if (lane.mod(Mod::FuncFmt) != 0) return lane.set(0, mufuOfHalf(inst, lane, 0));
  const float a = lane.f32(1, true);
  float result = 0;
  switch (lane.modAs<Mufu>(Mod::Func)) {
  case Mufu::COS: result = ieee::approx::cosTurns(a); break;
  case Mufu::SIN: result = ieee::approx::sinTurns(a); break;
  case Mufu::EX2: result = ieee::approx::ex2(a); break;
  case Mufu::LG2: result = ieee::approx::lg2(a); break;
  case Mufu::RCP: result = ieee::approx::rcp(a); break;
  case Mufu::RSQ: result = ieee::approx::rsqrt(a); break;
  case Mufu::SQRT: result = ieee::approx::sqrt(a); break;
  case Mufu::TANH: return lane.setF32(0, ieee::approx::tanh(lane.f32(1, false)), false, false);
  case Mufu::RCP64H: return lane.set(0, onHighWord(lane.number(1, Format::F32), [](double v) { return ieee::rcp(v); }));
  case Mufu::RSQ64H:
    return lane.set(0, onHighWord(lane.number(1, Format::F32),
                                  [](double v) { return ieee::div(1.0, ieee::sqrt(v), Rounding::TowardZero); }));
  }
  lane.setF32(0, result, true, false);
}

void fchk(const Inst& inst, LaneValues& values) {
  // If the result is true, a division uses the general routine, which handles all operands. The exact condition is not
  // public. This one is true if a step of the fast sequence (reciprocal, quotient, remainder) could leave the normal
  // range.
  Lane lane(inst, values);
  const int a = exponentOf(lane.number(1, Format::F32)), b = exponentOf(lane.number(2, Format::F32));
  const bool isRegular = a > 24 && a < 255 && b > 1 && b < 253 && a - b < 126 && a - b > -125;
  lane.setPred(0, !isRegular);
}

} // namespace orias::isa::semantics

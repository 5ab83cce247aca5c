// Conversions between formats.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

#include <algorithm>

namespace orias::isa::semantics {

namespace {

Format formatOf(const Lane& lane, Mod kind) {
  switch (lane.modAs<Fmt>(kind)) {
  case Fmt::F16: return Format::F16;
  case Fmt::F32: return Format::F32;
  case Fmt::F64: return Format::F64;
  case Fmt::BF16: break;
  }
  return Format::BF16;
}

unsigned bitsOfInt(IntFmt format) {
  return 8u << (static_cast<unsigned>(format) / 2);
}

bool isSigned(IntFmt format) {
  return static_cast<unsigned>(format) % 2 != 0;
}

Rounding integralRounding(const Lane& lane) {
  return static_cast<Rounding>(lane.mod(Mod::Round));
}

/// The source in `format`; .FTZ only applies to f32.
Bits source(const Lane& lane, unsigned slot, Format format) {
  return lane.number(slot, format, lane.mod(Mod::Ftz) != 0 && format == Format::F32);
}

void setNumber(Lane& lane, Format format, Bits value) {
  if (lane.mod(Mod::Ftz) != 0 && format == Format::F32) value = ieee::flush(format, value);
  lane.set64(0, value);
}

/// Negative results become zero; NaN becomes canonical.
Bits relu(Format format, Bits value) {
  return ieee::maximum(format, value, 0, true);
}

/// The half of Rc for the upper half of a packed result.
std::uint32_t upperOf(const Lane& lane, unsigned slot) {
  return lane.mod(Mod::Sub2) != 0 ? lane.raw(slot) >> 16 : lane.raw(slot);
}

/// Packs `high` above `low`, `bits` wide each, and `above` in the remaining bits.
std::uint32_t packed(std::uint32_t high, std::uint32_t low, unsigned bits, std::uint32_t above) {
  const std::uint32_t mask = (1u << bits) - 1;
  const std::uint32_t pair = (high & mask) << bits | (low & mask);
  return bits == 16 ? pair : above << 2 * bits | pair;
}

std::uint32_t clamped(std::int32_t value, unsigned bits, bool isSignedResult) {
  const std::int32_t low = isSignedResult ? -(1 << (bits - 1)) : 0;
  const std::int32_t high = isSignedResult ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  return static_cast<std::uint32_t>(std::clamp(value, low, high));
}

void packIntegers(Lane& lane, unsigned bits, bool isSignedResult, std::uint32_t above) {
  lane.set(0,
           packed(clamped(lane.s32(1), bits, isSignedResult), clamped(lane.s32(2), bits, isSignedResult), bits, above));
}

} // namespace

void f2f(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format to = formatOf(lane, Mod::DstFmt), from = formatOf(lane, Mod::SrcFmt);
  setNumber(lane, to, ieee::convert(to, from, source(lane, 1, from), lane.rounding()));
}

void f2i(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format from = formatOf(lane, Mod::SrcFmt);
  const auto to = lane.modAs<IntFmt>(Mod::DstFmt);
  const auto nan = lane.mod(Mod::Ntz) != 0 ? ieee::NanInteger::Zero : ieee::NanInteger::HighestBit;
  const std::uint64_t integer =
      ieee::toInteger(from, source(lane, 1, from), bitsOfInt(to), isSigned(to), integralRounding(lane), nan);
  if (bitsOfInt(to) == 64)
    lane.set64(0, integer);
  else
    lane.set(0, static_cast<std::uint32_t>(integer));
}

namespace {

/// Applies `convert` to the high half of the source.
void ofHighHalf(void (*convert)(const Inst&, LaneValues&), const Inst& inst, LaneValues& values) {
  values[1] = LaneValue::of(values[1].w[0] >> 16);
  convert(inst, values);
}

} // namespace

void f2fHigh(const Inst& inst, LaneValues& values) {
  ofHighHalf(f2f, inst, values);
}
void f2iHigh(const Inst& inst, LaneValues& values) {
  ofHighHalf(f2i, inst, values);
}

void i2f(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format to = formatOf(lane, Mod::DstFmt);
  const auto from = lane.modAs<IntFmt>(Mod::SrcFmt);
  const unsigned bits = bitsOfInt(from);
  std::uint64_t v = bits == 64 ? lane.raw64(1) : lane.raw(1);
  if (bits < 32) v = v >> (lane.mod(Mod::Byte) * bits) & ((1u << bits) - 1);
  lane.set64(0, isSigned(from) ? ieee::fromSigned(to, signedOf(v, bits), lane.rounding())
                               : ieee::fromUnsigned(to, v, lane.rounding()));
}

void frnd(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format to = formatOf(lane, Mod::DstFmt), from = formatOf(lane, Mod::SrcFmt);
  const Bits integral = ieee::roundToIntegral(from, source(lane, 1, from), integralRounding(lane));
  setNumber(lane, to, ieee::convert(to, from, integral));
}

void frndHigh(const Inst& inst, LaneValues& values) {
  ofHighHalf(frnd, inst, values);
}

void i2fp(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint32_t v = lane.raw(1);
  const bool isSignedSource = lane.modAs<IntType>(Mod::Type) == IntType::S32;
  const Format to = desc(inst.op).modIndex(Mod::DstFmt) >= 0 ? formatOf(lane, Mod::DstFmt) : Format::F32;
  lane.set(0, static_cast<std::uint32_t>(isSignedSource ? ieee::fromSigned(to, signedOf(v, 32), lane.rounding())
                                                        : ieee::fromUnsigned(to, v, lane.rounding())));
}

void i2i(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto to = lane.modAs<IntFmt>(Mod::DstFmt);
  lane.set(0, clamped(lane.s32(1), bitsOfInt(to), isSigned(to)));
}

void f2fp(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format to = lane.mod(Mod::DstFmt) != 0 ? Format::BF16 : Format::F16;
  const auto overflow = lane.mod(Mod::Sat) != 0 ? ieee::Overflow::Finite : ieee::Overflow::Round;
  const auto half = [&](unsigned slot) {
    const Bits v = ieee::convert(to, Format::F32, lane.number(slot, Format::F32), lane.rounding(), overflow);
    return static_cast<std::uint32_t>(lane.mod(Mod::Relu) != 0 ? relu(to, v) : v);
  };
  lane.set(0, half(1) << 16 | half(2));
}

void f2fpMerge(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format to = lane.mod(Mod::DstFmt) != 0 ? Format::BF16 : Format::F16;
  const auto overflow = lane.mod(Mod::Sat) != 0 ? ieee::Overflow::Finite : ieee::Overflow::Round;
  Bits low = ieee::convert(to, Format::F32, lane.number(1, Format::F32), lane.rounding(), overflow);
  if (lane.mod(Mod::Relu) != 0) low = relu(to, low);
  lane.set(0, upperOf(lane, 2) << 16 | static_cast<std::uint32_t>(low));
}

void f2ip(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool isSignedResult = lane.mod(Mod::DstFmt) != 0;
  const auto nan = lane.mod(Mod::Ntz) != 0 ? ieee::NanInteger::Zero : ieee::NanInteger::HighestBit;
  const auto integer = [&](unsigned slot) {
    return static_cast<std::uint32_t>(
        ieee::toInteger(Format::F32, lane.number(slot, Format::F32), 8, isSignedResult, integralRounding(lane), nan));
  };
  lane.set(0, packed(integer(1), integer(2), 8, upperOf(lane, 3)));
}

void i2ip(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto to = lane.modAs<IntFmt>(Mod::DstFmt);
  packIntegers(lane, bitsOfInt(to), isSigned(to), upperOf(lane, 3));
}

void i2ip4(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  packIntegers(lane, 4, lane.mod(Mod::DstFmt) != 0, lane.raw(3));
}

void i2ip2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  packIntegers(lane, 2, lane.mod(Mod::DstFmt) != 0, lane.raw(3));
}

namespace {

Format fp8Of(const Lane& lane, Mod modifier) {
  return lane.mod(modifier) % 2 != 0 ? Format::E4M3 : Format::E5M2;
}

/// Sets two 8-bit numbers, and above them the selected half of slot `kept`.
void setFp8Pair(Lane& lane, unsigned kept, Format from, Bits high, Bits low) {
  const Format to = fp8Of(lane, Mod::DstFmt);
  const auto overflow = lane.mod(Mod::Sat) != 0 ? ieee::Overflow::Finite : ieee::Overflow::Round;
  const auto number = [&](Bits bits) {
    const Bits v = ieee::convert(to, from, bits, Rounding::NearestEven, overflow);
    return static_cast<std::uint32_t>(lane.mod(Mod::Relu) != 0 ? relu(to, v) : v);
  };
  const std::uint32_t above = lane.raw(kept) >> (lane.mod(Mod::Byte) != 0 ? 16 : 0);
  lane.set(0, above << 16 | number(high) << 8 | number(low));
}

} // namespace

void f2fpFp8(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  setFp8Pair(lane, 3, Format::F32, lane.number(1, Format::F32), lane.number(2, Format::F32));
}

void f2fpFp8OfHalves(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format from = inst.op == Op::F2FP_FP8_BF16 ? Format::BF16 : Format::F16;
  setFp8Pair(lane, 2, from, lane.raw(1) >> 16, lane.raw(1) & 0xffff);
}

void f2fpUnpack(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format from = fp8Of(lane, Mod::SrcFmt);
  const std::uint32_t pair = lane.raw(1) >> (lane.mod(Mod::Byte) != 0 ? 16 : 0);
  const auto half = [&](unsigned shift) {
    const Bits v = ieee::convert(Format::F16, from, pair >> shift & 0xff);
    return static_cast<std::uint32_t>(lane.mod(Mod::Relu) != 0 ? relu(Format::F16, v) : v);
  };
  lane.set(0, half(8) << 16 | half(0));
}

namespace {

ieee::Overflow overflowOf(const Lane& lane) {
  return lane.mod(Mod::Sat) != 0 ? ieee::Overflow::Finite : ieee::Overflow::Round;
}

/// The half of the last slot that is kept above two bytes.
std::uint32_t keptAbove(const Lane& lane, unsigned slot) {
  return lane.raw(slot) >> (lane.mod(Mod::Byte) != 0 ? 16 : 0) << 16;
}

/// Converts two numbers of `bits` bits each to halves.
void unpackPair(Lane& lane, Format from, Format to, std::uint32_t pair, unsigned bits) {
  const auto half = [&](unsigned shift) {
    const Bits v = ieee::convert(to, from, pair >> shift & ((1u << bits) - 1));
    return static_cast<std::uint32_t>(lane.mod(Mod::Relu) != 0 ? relu(to, v) : v);
  };
  lane.set(0, half(bits) << 16 | half(0));
}

} // namespace

void f2fpNarrow(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  constexpr unsigned kE2m1 = 3, kE2m3 = 6;
  const unsigned format = lane.mod(Mod::DstFmt);
  const Format to = format == kE2m1 ? Format::E2M1 : format == kE2m3 ? Format::E2M3 : Format::E3M2;
  const auto number = [&](unsigned slot) {
    const Bits v =
        ieee::convert(to, Format::F32, lane.number(slot, Format::F32), Rounding::NearestEven, ieee::Overflow::Finite);
    return static_cast<std::uint32_t>(lane.mod(Mod::Relu) != 0 ? relu(to, v) : v);
  };
  if (to == Format::E2M1)
    lane.set(0, lane.raw(3) << 8 | number(1) << 4 | number(2));
  else
    lane.set(0, keptAbove(lane, 3) | number(1) << 8 | number(2));
}

namespace {

/// Stochastic rounding. For halves the bits of `random` are those of cvt.rs in the PTX manual. For narrower formats
/// their random bits have not been observed, so only numbers that do not depend on them are converted.
std::uint32_t roundedByChance(const Inst& inst, const Lane& lane, Format to, unsigned slot, std::uint32_t random = 0) {
  const Bits number = lane.number(slot, Format::F32);
  Bits v = ieee::convert(to, Format::F32, number, Rounding::Down, overflowOf(lane));
  if (v != ieee::convert(to, Format::F32, number, Rounding::Up, overflowOf(lane))) {
    const auto direction = ieee::stochasticRounding(to, number, random);
    if (!direction) throwUnsupported(inst, "a number that random bits round");
    v = ieee::convert(to, Format::F32, number, *direction, overflowOf(lane));
  }
  return static_cast<std::uint32_t>(lane.mod(Mod::Relu) != 0 ? relu(to, v) : v);
}

} // namespace

void f2fpByChance(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format to = lane.mod(Mod::DstFmt) != 0 ? Format::BF16 : Format::F16;
  const std::uint32_t random = lane.raw(3);
  lane.set(0, roundedByChance(inst, lane, to, 1, random >> 16) << 16 | roundedByChance(inst, lane, to, 2, random));
}

void f2fpByChanceMerge(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  enum { kE2m1 = 3, kE2m3 = 6, kE3m2, kE5m2, kE4m3 };
  const unsigned format = lane.mod(Mod::DstFmt);
  const Format to = format == kE2m1   ? Format::E2M1
                    : format == kE2m3 ? Format::E2M3
                    : format == kE3m2 ? Format::E3M2
                    : format == kE5m2 ? Format::E5M2
                                      : Format::E4M3;
  const unsigned bits = to == Format::E2M1 ? 4 : 8;
  lane.set(0,
           lane.raw(3) << 2 * bits | roundedByChance(inst, lane, to, 1) << bits | roundedByChance(inst, lane, to, 2));
}

void f2fpExponent(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto number = [&](unsigned slot) {
    return static_cast<std::uint32_t>(
        ieee::convert(Format::UE8M0, Format::F32, lane.number(slot, Format::F32), lane.rounding(), overflowOf(lane)));
  };
  lane.set(0, keptAbove(lane, 3) | number(1) << 8 | number(2));
}

void f2fpExponentOfHalves(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto number = [&](std::uint32_t half) {
    return static_cast<std::uint32_t>(
        ieee::convert(Format::UE8M0, Format::BF16, half & 0xffff, lane.rounding(), overflowOf(lane)));
  };
  lane.set(0, keptAbove(lane, 2) | number(lane.raw(1) >> 16) << 8 | number(lane.raw(1)));
}

void f2fpUnpackE2m1(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  unpackPair(lane, Format::E2M1, Format::F16, lane.raw(1) >> 8 * lane.mod(Mod::Byte), 4);
}

void f2fpUnpackNarrow(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Format from = lane.mod(Mod::SrcFmt) != 0 ? Format::E3M2 : Format::E2M3;
  unpackPair(lane, from, Format::F16, lane.raw(1) >> 16 * lane.mod(Mod::Byte), 8);
}

void f2fpUnpackExponent(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  unpackPair(lane, Format::UE8M0, Format::BF16, lane.raw(1) >> 16 * lane.mod(Mod::Byte), 8);
}

void f2fpTf32(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Bits v =
      ieee::convert(Format::TF32, Format::F32, lane.number(1, Format::F32), lane.rounding(), overflowOf(lane));
  lane.set(0, static_cast<std::uint32_t>(lane.mod(Mod::Relu) != 0 ? relu(Format::TF32, v) : v));
}

} // namespace orias::isa::semantics

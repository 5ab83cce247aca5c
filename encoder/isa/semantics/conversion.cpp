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

/// The source in `format`; .FTZ is about f32 only.
Bits source(const Lane& lane, unsigned slot, Format format) {
  return lane.number(slot, format, lane.mod(Mod::Ftz) != 0 && format == Format::F32);
}

void setNumber(Lane& lane, Format format, Bits value) {
  if (lane.mod(Mod::Ftz) != 0 && format == Format::F32) value = ieee::flush(format, value);
  lane.set64(0, value);
}

/// Negative results become zero; NaN stays.
Bits relu(Format format, Bits value) {
  return !ieee::isNan(format, value) && (value & 0x8000) != 0 ? 0 : value;
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

void i2fp(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint32_t v = lane.raw(1);
  const bool isSignedSource = lane.modAs<IntType>(Mod::Type) == IntType::S32;
  lane.set(0,
           static_cast<std::uint32_t>(isSignedSource ? ieee::fromSigned(Format::F32, signedOf(v, 32), lane.rounding())
                                                     : ieee::fromUnsigned(Format::F32, v, lane.rounding())));
}

void i2i(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto to = lane.modAs<IntFmt>(Mod::DstFmt);
  const int bits = static_cast<int>(bitsOfInt(to));
  const std::int32_t low = isSigned(to) ? -(1 << (bits - 1)) : 0;
  const std::int32_t high = isSigned(to) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  lane.set(0, static_cast<std::uint32_t>(std::clamp(lane.s32(1), low, high)));
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

} // namespace orias::isa::semantics

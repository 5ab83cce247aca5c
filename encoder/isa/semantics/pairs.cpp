// 64-bit integers in pairs of registers, and uniform conversions: new in sm_120.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

namespace orias::isa::semantics {

namespace {

using Wide = unsigned __int128;

/// A source of a sum. As for words, a negation includes its carry: -0 is 2^64.
Wide addend(const Lane& lane, unsigned slot) {
  const std::uint64_t v = lane.raw64(slot);
  const Operand& o = lane.operand(slot);
  if (o.neg()) return Wide{~v} + 1;
  return o.inverted() ? ~v : v;
}

void setSum(Lane& lane, Wide sum) {
  lane.set64(0, static_cast<std::uint64_t>(sum));
  lane.setPred(1, sum >> 64 != 0);
}

bool isSigned(const Lane& lane) {
  return lane.mod(Mod::Type) != 0;
}

bool isLess(const Lane& lane, std::uint64_t a, std::uint64_t b) {
  return isSigned(lane) ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
}

} // namespace

void iadd(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto word = [&](unsigned slot) {
    const std::uint32_t v = lane.raw(slot);
    return lane.operand(slot).neg() ? std::uint64_t{~v} + 1 : v;
  };
  const std::uint64_t sum = word(2) + word(3);
  lane.set(0, static_cast<std::uint32_t>(sum));
  lane.setPred(1, sum >> 32 != 0);
}

void iaddX(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint64_t sum = std::uint64_t{lane.u32(2)} + lane.u32(3) + (lane.pred(4) ? 1 : 0);
  lane.set(0, static_cast<std::uint32_t>(sum));
  lane.setPred(1, sum >> 32 != 0);
}

void iaddPair(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  setSum(lane, addend(lane, 2) + addend(lane, 3));
}

void iaddPairX(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  setSum(lane, addend(lane, 2) + addend(lane, 3) + (lane.pred(4) ? 1 : 0));
}

namespace {

/// Sets the sum of three sources, and two carries: whether it has reached 2^64 and 2^65.
void setSumOfThree(Lane& lane, unsigned carries) {
  const Wide sum = addend(lane, 3) + addend(lane, 4) + addend(lane, 5) + carries;
  lane.set64(0, static_cast<std::uint64_t>(sum));
  lane.setPred(1, sum >> 64 != 0);
  lane.setPred(2, sum >> 65 != 0);
}

} // namespace

void iadd3Pair(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  setSumOfThree(lane, 0);
}

void iadd3PairX(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  setSumOfThree(lane, (lane.pred(6) ? 1u : 0u) + (lane.pred(7) ? 1u : 0u));
}

void movPair(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set64(0, lane.raw64(1));
}

void movLongNumber(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set64(0, std::uint64_t{lane.raw(2)} << 32 | lane.raw(1));
}

void selPair(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set64(0, lane.raw64(lane.pred(3) ? 1 : 2));
}

/// The immediate has 33 bits; the highest is its sign.
void selLongNumber(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint64_t high = lane.raw(3) != 0 ? 0xffffffff : 0;
  lane.set64(0, lane.pred(4) ? lane.raw64(1) : high << 32 | lane.raw(2));
}

void isetpPair(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint64_t a = lane.raw64(2), b = lane.raw64(3);
  // With their sign bits inverted, unsigned numbers are ordered as signed ones.
  const std::uint64_t turn = isSigned(lane) ? 0 : std::uint64_t{1} << 63;
  const bool holds =
      compares(lane.modAs<ICmp>(Mod::Cmp), static_cast<std::int64_t>(a ^ turn), static_cast<std::int64_t>(b ^ turn));
  lane.setComparison(0, holds, lane.pred(4));
}

void uvimnmx(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const std::uint32_t turn = isSigned(lane) ? 0x80000000 : 0, a = lane.raw(1), b = lane.raw(2);
  const std::uint32_t chosen = ((a ^ turn) < (b ^ turn)) == lane.pred(3) ? a : b;
  lane.set(0, lane.mod(Mod::Relu) != 0 && isSigned(lane) && chosen >> 31 != 0 ? 0 : chosen);
}

void imnmxPair(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  if (!lane.isUnused(0) || !lane.isUnused(1)) throwUnsupported(inst, "a predicate result");
  const std::uint64_t a = lane.raw64(3), b = lane.raw64(4);
  lane.set64(2, isLess(lane, a, b) == lane.pred(5) ? a : b);
}

void uf2i(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const auto nan = lane.mod(Mod::Ntz) != 0 ? ieee::NanInteger::Zero : ieee::NanInteger::HighestBit;
  const Bits from = lane.number(1, Format::F32, lane.mod(Mod::Ftz) != 0);
  lane.set(0, static_cast<std::uint32_t>(ieee::toInteger(Format::F32, from, 32, isSigned(lane),
                                                         static_cast<Rounding>(lane.mod(Mod::Round)), nan)));
}

void fmnmx3(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const bool flush = lane.mod(Mod::Ftz) != 0, nanWins = lane.mod(Mod::Nan) != 0, wantsLess = lane.pred(4);
  const auto choose = [&](float a, float b) {
    return wantsLess ? ieee::minimum(a, b, nanWins) : ieee::maximum(a, b, nanWins);
  };
  const float result = choose(choose(lane.f32(1, flush), lane.f32(2, flush)), lane.f32(3, flush));
  lane.set(0, static_cast<std::uint32_t>(ieee::bitsOf(result)));
}

} // namespace orias::isa::semantics

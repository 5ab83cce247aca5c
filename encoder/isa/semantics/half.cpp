// Packed half-precision and bfloat16 arithmetic: two numbers a register, each result rounded once.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

namespace orias::isa::semantics {

namespace {

/// The operation of one half of a packed instruction.
class Packed {
 public:
  explicit Packed(Lane& lane) : lane_(lane) {
    format_ = lane.mod(Mod::Bf16) != 0 ? Format::BF16 : Format::F16;
    const auto ftz = lane.modAs<Ftz>(Mod::Ftz);
    flushes_ = ftz == Ftz::FTZ || ftz == Ftz::FMZ;
    zeroWins_ = ftz == Ftz::FMZ;
    knowsOutside_ = ftz == Ftz::OOB;
  }

  Format format() const { return format_; }
  Bits one() const { return format_ == Format::BF16 ? 0x3f80 : 0x3c00; }

  /// The source value for half `index` of the result.
  Bits source(unsigned slot, unsigned index) const {
    const Operand& o = lane_.operand(slot);
    unsigned from = index;
    switch (o.half) {
    case Operand::Half::H0H0: from = 0; break;
    case Operand::Half::H1H1: from = 1; break;
    case Operand::Half::None:
    case Operand::Half::H1H0: break;
    case Operand::Half::F32: throwUnsupported(lane_.inst(), "a half-precision part of an f32 operand");
    }
    Bits v = lane_.raw(slot) >> (16 * from) & 0xffff;
    // .OOB: the effect of an out-of-bounds value of a tensor is not known well enough.
    constexpr Bits kOutside = 0xffff;
    if (knowsOutside_ && v == kOutside) throwUnsupported(lane_.inst(), "an out-of-bounds value of a tensor");
    if (o.abs()) v &= 0x7fff;
    if (o.neg()) v ^= 0x8000;
    return flushes_ ? ieee::flush(format_, v) : v;
  }

  /// .FMZ: zero times anything is zero.
  bool isZeroProduct(Bits a, Bits b) const { return zeroWins_ && ((a & 0x7fff) == 0 || (b & 0x7fff) == 0); }

  /// The result, flushed and clamped according to the modifiers.
  Bits finish(Bits result) const {
    if (flushes_) result = ieee::flush(format_, result);
    if (lane_.mod(Mod::Sat) != 0) result = ieee::saturate(format_, result);
    if (lane_.mod(Mod::Relu) != 0 && !ieee::isNan(format_, result) && (result & 0x8000) != 0) result = 0;
    return result;
  }

  template <typename F> void set(unsigned slot, F half) {
    lane_.set(slot, static_cast<std::uint32_t>(half(0u) | half(1u) << 16));
  }

 private:
  Lane& lane_;
  Format format_ = Format::F16;
  bool flushes_ = false, zeroWins_ = false, knowsOutside_ = false;
};

void multiplyAdd(Lane& lane) {
  Packed packed(lane);
  packed.set(0, [&](unsigned i) {
    const Bits a = packed.source(1, i), b = packed.source(2, i), c = packed.source(3, i);
    const Format format = packed.format();
    return packed.finish(packed.isZeroProduct(a, b) ? ieee::add(format, 0, c) : ieee::fma(format, a, b, c));
  });
}

} // namespace

void hadd2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  Packed packed(lane);
  packed.set(0, [&](unsigned i) {
    return packed.finish(ieee::add(packed.format(), packed.source(1, i), packed.source(2, i)));
  });
}

void hadd2F32(const Inst& inst, LaneValues& values) {
  // One half becomes f32; the other source is always -RZ.
  Lane lane(inst, values);
  const unsigned half = lane.isUnused(1) ? 2 : 1;
  if (!lane.isUnused(3 - half)) throwUnsupported(inst, "a sum in f32");
  const Packed packed(lane);
  const Bits wide = ieee::convert(Format::F32, Format::F16, packed.source(half, 0));
  lane.setF32(0, ieee::floatOf(wide), false, lane.mod(Mod::Sat) != 0);
}

void hmul2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  Packed packed(lane);
  packed.set(0, [&](unsigned i) {
    const Bits a = packed.source(1, i), b = packed.source(2, i);
    return packed.isZeroProduct(a, b) ? Bits{0} : packed.finish(ieee::mul(packed.format(), a, b));
  });
}

void hfma2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  if (lane.mod(Mod::F32) != 0) throwUnsupported(inst, "accumulation in f32");
  multiplyAdd(lane);
}

void hfma2Relu(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  if (lane.mod(Mod::F32) != 0) throwUnsupported(inst, "accumulation in f32");
  if (!lane.isUnused(4)) throwUnsupported(inst, "a predicated clamp");
  multiplyAdd(lane);
}

void hfma2Turned(const Inst& inst, LaneValues&) {
  throwUnsupported(inst, "a sign for one half only");
}

/// The minimum or maximum of three packed numbers.
void vhmnmx(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  if (lane.mod(Mod::XorSign) != 0) throwUnsupported(inst, "the signs of three numbers");
  if (lane.mod(Mod::Sub) != 0) throwUnsupported(inst, "one half of the third number");
  Packed packed(lane);
  const bool nanWins = lane.mod(Mod::Nan) != 0, wantsLess = lane.pred(4);
  packed.set(0, [&](unsigned i) {
    const auto better = [&](Bits a, Bits b) {
      return wantsLess ? ieee::minimum(packed.format(), a, b, nanWins) : ieee::maximum(packed.format(), a, b, nanWins);
    };
    return better(better(packed.source(1, i), packed.source(2, i)), packed.source(3, i));
  });
}

void hmnmx2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  Packed packed(lane);
  const bool nanWins = lane.mod(Mod::Nan) != 0, wantsLess = lane.pred(3);
  packed.set(0, [&](unsigned i) {
    const Bits a = packed.source(1, i), b = packed.source(2, i);
    Bits result =
        wantsLess ? ieee::minimum(packed.format(), a, b, nanWins) : ieee::maximum(packed.format(), a, b, nanWins);
    // As in FMNMX, the signs are those of the registers.
    if (lane.mod(Mod::XorSign) != 0 && !ieee::isNan(packed.format(), result)) {
      const auto bits = [&](unsigned slot) {
        const Operand::Half half = lane.operand(slot).half;
        const unsigned which = half == Operand::Half::H0H0 ? 0 : half == Operand::Half::H1H1 ? 1 : i;
        return lane.raw(slot) >> (16 * which);
      };
      result = (result & 0x7fff) | ((bits(1) ^ bits(2)) & 0x8000);
    }
    return result;
  });
}

void hset2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  Packed packed(lane);
  const bool input = lane.pred(3);
  const Bits isTrue = lane.mod(Mod::BoolF) != 0 ? packed.one() : 0xffff;
  packed.set(0, [&](unsigned i) {
    const bool result = compares(lane.modAs<FCmp>(Mod::Cmp), packed.format(), packed.source(1, i), packed.source(2, i));
    return lane.combine(result, input) ? isTrue : Bits{0};
  });
}

void hsetp2(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  const Packed packed(lane);
  const bool input = lane.pred(4);
  const auto half = [&](unsigned i) {
    return compares(lane.modAs<FCmp>(Mod::Cmp), packed.format(), packed.source(2, i), packed.source(3, i));
  };
  // One result for each half; with .H_AND the conjunction of both, and its opposite.
  if (lane.mod(Mod::Sub) != 0) return lane.setComparison(0, half(0) && half(1), input);
  lane.setPred(0, lane.combine(half(0), input));
  lane.setPred(1, lane.combine(half(1), input));
}

} // namespace orias::isa::semantics

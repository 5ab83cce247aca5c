#include "tools/interpreter/float.h"

#include <algorithm>

// cvt: between integers of all widths and floating-point formats, packed ones too, and cvt.pack (manual: "Data Movement
// and Conversion Instructions: cvt").

namespace orias::interp {

namespace {

using ieee::Bits;
using ieee::Format;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;
using ptx::TypeClass;

__extension__ using Int128 = __int128;

/// One side of a conversion.
struct Side {
  bool isFloat = false, isSigned = false;
  unsigned bits = 0;
  Format format = Format::F32;

  static std::optional<Side> of(Type type) {
    const TypeClass kind = typeClass(type);
    if (kind == TypeClass::Unsigned || kind == TypeClass::Signed)
      return Side{false, kind == TypeClass::Signed, bitWidth(type), {}};
    if (const auto format = formatOf(type)) return Side{true, false, bitWidth(type), *format};
    return std::nullopt;
  }
  Bits mask() const { return ~Bits{0} >> (64 - bits); }
};

/// Inst::detail.
struct Conversion {
  Side to, from;
  FloatMode mode;
  ieee::Overflow overflow = ieee::Overflow::Round;
  bool toIntegral = false;       ///< .rni, .rzi, …
  unsigned registerBits = 0;     ///< of the destination
  bool sourcesAreHalves = false; ///< two sources are the two elements, the first the high one
};

/// The integer in the low bits of a slot.
Int128 integerOf(const Side& side, Bits bits) {
  bits &= side.mask();
  const bool isNegative = side.isSigned && (bits >> (side.bits - 1) & 1) != 0;
  return static_cast<Int128>(bits) - (isNegative ? Int128{1} << side.bits : 0);
}

Bits clampTo(const Side& to, Int128 value) {
  const Int128 least = to.isSigned ? -(Int128{1} << (to.bits - 1)) : 0;
  const Int128 most = (Int128{1} << (to.isSigned ? to.bits - 1 : to.bits)) - 1;
  return static_cast<Bits>(std::clamp(value, least, most));
}

/// .ftz applies to single precision only.
Bits flushIf(bool ftz, Format format, Bits value) {
  return ftz && format == Format::F32 ? ieee::flush(format, value) : value;
}

Bits toFloat(const Conversion& c, Bits value) {
  const Format to = c.to.format, from = c.from.format;
  if (c.from.isFloat) {
    value = flushIf(c.mode.ftz, from, value);
    value = c.toIntegral ? ieee::roundToIntegral(to, value, c.mode.rounding)
                         : ieee::convert(to, from, value, c.mode.rounding, c.overflow);
  } else {
    const Int128 integer = integerOf(c.from, value);
    value = ieee::fromInteger(to, integer < 0, static_cast<Bits>(integer < 0 ? -integer : integer), c.mode.rounding);
  }
  FloatMode mode = c.mode;
  mode.ftz = mode.ftz && to == Format::F32;
  return mode.finish(to, value);
}

Bits toInteger(const Conversion& c, Bits value) {
  if (!c.from.isFloat) {
    const Int128 integer = integerOf(c.from, value);
    return c.mode.sat ? clampTo(c.to, integer) : static_cast<Bits>(integer);
  }
  const bool isWide = c.from.format == Format::F64 || c.to.bits == 64;
  return ieee::toInteger(c.from.format, flushIf(c.mode.ftz, c.from.format, value), c.to.bits, c.to.isSigned,
                         c.mode.rounding, isWide ? ieee::NanInteger::HighestBit : ieee::NanInteger::Zero);
}

/// A scalar; a signed integer is extended to the width of its register.
void cvt(Thread& t, const Inst& i) {
  const auto& c = *static_cast<const Conversion*>(i.detail);
  const Bits source = t.r[i.a] & c.from.mask();
  if (c.to.isFloat) {
    t.r[i.d] = toFloat(c, source);
    return;
  }
  const Int128 result = integerOf(c.to, toInteger(c, source));
  t.r[i.d] = static_cast<Bits>(result) & ~Bits{0} >> (64 - std::max(c.registerBits, c.to.bits));
}

/// Two elements, of one packed source or of two.
void cvtPair(Thread& t, const Inst& i) {
  const auto& c = *static_cast<const Conversion*>(i.detail);
  const Bits high = c.sourcesAreHalves ? t.r[i.a] : t.r[i.a] >> c.from.bits;
  const Bits low = c.sourcesAreHalves ? t.r[i.b] : t.r[i.a];
  t.r[i.d] = toFloat(c, high & c.from.mask()) << c.to.bits | toFloat(c, low & c.from.mask());
}

/// .rs, of two or four numbers, the first one the highest; a: the random bits. Each of two numbers uses half of the
/// random bits. For four, the manual only has a figure of how they share them, so only numbers that do not depend on
/// them are converted.
void cvtByChance(Thread& t, const Inst& i) {
  const auto& c = *static_cast<const Conversion*>(i.detail);
  constexpr unsigned kHalf = 16;
  const auto random = get<std::uint32_t>(t, i.a);
  Bits all = 0;
  for (std::size_t k = 0; k < i.list.size(); ++k) {
    const Bits number = t.r[i.list[k]] & c.from.mask();
    const auto rounded = [&](ieee::Rounding rounding) {
      Conversion one = c;
      one.mode.rounding = rounding;
      return toFloat(one, number);
    };
    Bits result = rounded(ieee::Rounding::Down);
    if (result != rounded(ieee::Rounding::Up)) {
      const auto direction = ieee::stochasticRounding(c.to.format, number, k == 0 ? random >> kHalf : random);
      if (!direction)
        throw Stop{"unsupported", "the text of the PTX manual does not say which random bits round this number"};
      result = rounded(*direction);
    }
    all = all << c.to.bits | result;
  }
  t.r[i.d] = all;
}

bool translateByChance(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type to = f.type(0);
  const bool isPair = to == Type::F16x2 || to == Type::BF16x2;
  const auto packed = Side::of(to);
  const auto from = Side::of(f.type(1));
  if (!packed || !from) return false;
  Conversion c{.to = *packed, .from = *from, .mode = FloatMode::of(f)};
  c.to.bits /= isPair ? 2 : 4;
  if (f.has(Mod::Satfinite)) c.overflow = ieee::Overflow::Finite;
  std::vector<std::uint32_t> slots;
  if (isPair) {
    slots = {t.use(1, f.type(1)), t.use(2, f.type(1))};
  } else {
    const auto four = t.uses(1, f.type(1));
    slots.assign(four.begin(), four.end());
  }
  const std::uint32_t random = t.use(isPair ? 3 : 2, Type::B32);
  Inst& inst = t.emit(&cvtByChance);
  inst.d = t.def(0);
  inst.a = random;
  inst.list = t.list(std::move(slots));
  inst.detail = t.keep(c);
  return true;
}

/// cvt.pack: both, clamped, below the previous value.
void cvtPack(Thread& t, const Inst& i) {
  const Side to{false, i.option != 0, i.width, {}};
  const auto part = [&](std::uint32_t slot) { return clampTo(to, get<std::int32_t>(t, slot)) & to.mask(); };
  const Bits above = t.r[i.c] << 2 * i.width;
  t.r[i.d] = (above | part(i.a) << i.width | part(i.b)) & 0xffffffff;
}

bool translateCvtPack(FunctionTranslator& t) {
  const Type type = t.form().type();
  const bool hasThird = t.operandCount() > 3;
  const std::uint32_t a = t.use(1, Type::S32), b = t.use(2, Type::S32), c = hasThird ? t.use(3, Type::B32) : kSink;
  Inst& inst = t.emit(&cvtPack);
  inst.d = t.def(0);
  inst.a = a;
  inst.b = b;
  inst.c = hasThird ? c : t.constant(0);
  inst.width = static_cast<std::uint8_t>(bitWidth(type));
  inst.option = typeClass(type) == TypeClass::Signed;
  return true;
}

bool isPacked(Type type) {
  switch (type) {
  case Type::F16x2:
  case Type::BF16x2:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M1x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::UE8M0x2: return true;
  default: return false;
  }
}

bool isIntegral(Mod rounding) {
  return rounding == Mod::Rni || rounding == Mod::Rzi || rounding == Mod::Rmi || rounding == Mod::Rpi;
}

} // namespace

bool translateConvert(FunctionTranslator& t) {
  const Form& f = t.form();
  if (f.op == Op::CvtPack) return translateCvtPack(t);
  if (f.op != Op::Cvt) return false;
  if (f.rounding() == Mod::Rs) return translateByChance(t);
  const auto to = Side::of(f.type(0)), from = Side::of(f.type(1));
  if (!to || !from) return false;
  Conversion c{.to = *to, .from = *from, .mode = FloatMode::of(f)};
  if (f.has(Mod::Satfinite)) c.overflow = ieee::Overflow::Finite;
  c.toIntegral = isIntegral(f.rounding());
  if (c.toIntegral && c.to.isFloat && c.to.format != c.from.format) return false;
  c.registerBits = t.registerBits(0);
  const bool toPair = isPacked(f.type(0)), fromPair = isPacked(f.type(1));
  if (toPair) c.to.bits /= 2;
  if (fromPair) c.from.bits /= 2;
  c.sourcesAreHalves = toPair && !fromPair;
  const std::uint32_t a = t.use(1, f.type(1));
  const std::uint32_t b = c.sourcesAreHalves ? t.use(2, f.type(1)) : kSink;
  Inst& inst = t.emit(toPair ? &cvtPair : &cvt);
  inst.d = t.def(0);
  inst.a = a;
  inst.b = b;
  inst.detail = t.keep(c);
  return true;
}

} // namespace orias::interp

// Every operation works on unpacked numbers. It computes the exact result (or one with a sticky lowest bit), which
// `pack` rounds once.

#include "support/ieee.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace orias::ieee {

namespace {

using Wide = unsigned __int128;

/// The layout of a format: sign, exponent and fraction, above `unused` bits.
struct Layout {
  unsigned exponentBits, fractionBits, unused;
  bool hasInfinity;
  bool hasNan = true;

  constexpr int bias() const { return (1 << (exponentBits - 1)) - 1; }
  constexpr int minExponent() const { return 1 - bias(); }
  /// Numbers with greater exponents are out of range, regardless of their fraction.
  constexpr int maxExponent() const { return bias() + 1; }
  constexpr Bits fractionMask() const { return (Bits{1} << fractionBits) - 1; }
  constexpr Bits exponentMask() const { return (Bits{1} << exponentBits) - 1; }
  constexpr Bits sign() const { return Bits{1} << (exponentBits + fractionBits); }
  /// The magnitude above all finite magnitudes.
  constexpr Bits beyond() const {
    if (!hasNan) return sign();
    return hasInfinity ? exponentMask() << fractionBits : exponentMask() << fractionBits | fractionMask();
  }
};

constexpr Layout layoutOf(Format format) {
  switch (format) {
  case Format::F16: return {5, 10, 0, true};
  case Format::BF16: return {8, 7, 0, true};
  case Format::TF32: return {8, 10, 13, true};
  case Format::E4M3: return {4, 3, 0, false};
  case Format::E5M2: return {5, 2, 0, true};
  case Format::E2M1: return {2, 1, 0, false, false};
  case Format::E2M3: return {2, 3, 0, false, false};
  case Format::E3M2: return {3, 2, 0, false, false};
  case Format::UE8M0: return {8, 0, 0, false};
  case Format::F32: return {8, 23, 0, true};
  case Format::F64: break;
  }
  return {11, 52, 0, true};
}

enum class Kind : std::uint8_t { Zero, Finite, Infinity, Nan };

/// An unpacked number. Finite: significand / 2^127 * 2^exponent, with the highest bit of the significand set.
struct Number {
  Kind kind = Kind::Zero;
  bool negative = false;
  int exponent = 0;
  Wide significand = 0;
};

int leadingZeros(Wide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(value));
}

/// significand / 2^127 * 2^exponent, with a significand in any position.
Number finite(bool negative, int exponent, Wide significand) {
  if (significand == 0) return {Kind::Zero, negative, 0, 0};
  const int zeros = leadingZeros(significand);
  return {Kind::Finite, negative, exponent - zeros, significand << zeros};
}

Number unpack(Format format, Bits bits) {
  const Layout layout = layoutOf(format);
  if (format == Format::UE8M0) {
    if (bits == 0xff) return {Kind::Nan, false, 0, 0};
    return finite(false, static_cast<int>(bits) - 127, Wide{1} << 127);
  }
  bits >>= layout.unused;
  const bool negative = (bits & layout.sign()) != 0;
  const Bits magnitude = bits & (layout.sign() - 1);
  if (magnitude == layout.beyond()) return {layout.hasInfinity ? Kind::Infinity : Kind::Nan, negative, 0, 0};
  if (magnitude > layout.beyond()) return {Kind::Nan, negative, 0, 0};
  const Bits exponent = magnitude >> layout.fractionBits, fraction = magnitude & layout.fractionMask();
  const Wide significand = exponent != 0 ? fraction | (layout.fractionMask() + 1) : fraction;
  const int biased = exponent != 0 ? static_cast<int>(exponent) : 1;
  return finite(negative, biased - layout.bias(), significand << (127 - layout.fractionBits));
}

/// value / 2^shift, rounded to an integer.
Wide roundShift(Wide value, int shift, bool negative, Rounding rounding) {
  if (shift <= 0) return value;
  const Wide half = Wide{1} << 127;
  // The discarded bits, as a fraction of 2^128. For shifts beyond 128 it is any value below a half.
  const Wide kept = shift >= 128 ? 0 : value >> shift;
  const Wide rest = shift < 128 ? value << (128 - shift) : shift == 128 ? value : Wide{value != 0};
  if (rest == 0) return kept;
  bool up = false;
  switch (rounding) {
  case Rounding::NearestEven: up = rest > half || (rest == half && (kept & 1) != 0); break;
  case Rounding::NearestAway: up = rest >= half; break;
  case Rounding::Down: up = negative; break;
  case Rounding::Up: up = !negative; break;
  case Rounding::TowardZero: break;
  }
  return kept + (up ? 1 : 0);
}

/// The exponent of a number, as in cuda_fp8.hpp: its sign is ignored, and zero is the least power of two.
Bits packExponent(const Number& n, Rounding rounding, Overflow overflow) {
  constexpr int kBias = 127;
  constexpr Bits kNan = 0xff, kGreatest = 0xfe;
  if (n.kind == Kind::Nan) return kNan;
  Bits exponent = kNan;
  if (n.kind == Kind::Zero || (n.kind == Kind::Finite && n.exponent < -kBias)) {
    exponent = 0;
  } else if (n.kind == Kind::Finite && n.exponent <= kBias) {
    exponent = static_cast<Bits>(n.exponent + kBias);
    const bool hasFraction = n.significand != Wide{1} << 127;
    if (rounding == Rounding::Up && hasFraction) ++exponent;
  }
  return exponent == kNan && overflow == Overflow::Finite ? kGreatest : exponent;
}

/// A number in a format, rounded.
Bits pack(Format format, const Number& n, Rounding rounding, Overflow overflow = Overflow::Round) {
  if (format == Format::UE8M0) return packExponent(n, rounding, overflow);
  const Layout layout = layoutOf(format);
  const Bits sign = n.negative ? layout.sign() : 0;
  if (n.kind == Kind::Nan) return canonicalNan(format);
  if (n.kind == Kind::Zero) return sign << layout.unused;
  const bool isFiniteOnly = overflow == Overflow::Finite;
  Bits magnitude = layout.beyond();
  if (n.kind == Kind::Finite && n.exponent <= layout.maxExponent()) {
    const int below = n.exponent < layout.minExponent() ? layout.minExponent() - n.exponent : 0;
    const Wide kept =
        roundShift(n.significand, 127 - static_cast<int>(layout.fractionBits) + below, n.negative, rounding);
    // The leading one of a normal number adds one to the exponent, as does a carry out of the fraction.
    const Bits biased = below != 0 ? 0 : static_cast<Bits>(n.exponent - layout.minExponent());
    magnitude = (biased << layout.fractionBits) + static_cast<Bits>(kept);
  }
  if (magnitude >= layout.beyond()) {
    const bool towardZero =
        rounding == Rounding::TowardZero || rounding == (n.negative ? Rounding::Up : Rounding::Down);
    const bool staysFinite = isFiniteOnly || !layout.hasNan || (n.kind == Kind::Finite && towardZero);
    magnitude = staysFinite ? layout.beyond() - 1 : layout.beyond();
  }
  return (sign | magnitude) << layout.unused;
}

Wide shiftRightSticky(Wide value, int shift) {
  if (shift <= 0) return value;
  if (shift >= 128) return Wide{value != 0};
  return value >> shift | Wide{(value << (128 - shift)) != 0};
}

Number product(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::Nan || b.kind == Kind::Nan) return {Kind::Nan, false, 0, 0};
  if (a.kind == Kind::Infinity || b.kind == Kind::Infinity) {
    const bool hasZero = a.kind == Kind::Zero || b.kind == Kind::Zero;
    return {hasZero ? Kind::Nan : Kind::Infinity, negative, 0, 0};
  }
  if (a.kind == Kind::Zero || b.kind == Kind::Zero) return {Kind::Zero, negative, 0, 0};
  // Significands have at most 53 bits, all in the high half.
  const Wide significand = static_cast<Wide>(static_cast<std::uint64_t>(a.significand >> 64)) *
                           static_cast<std::uint64_t>(b.significand >> 64);
  return finite(negative, a.exponent + b.exponent + 1, significand);
}

Number sum(Number a, Number b, Rounding rounding) {
  if (a.kind == Kind::Nan || b.kind == Kind::Nan) return {Kind::Nan, false, 0, 0};
  if (a.kind == Kind::Infinity || b.kind == Kind::Infinity) {
    const bool both = a.kind == b.kind;
    if (both && a.negative != b.negative) return {Kind::Nan, false, 0, 0};
    return a.kind == Kind::Infinity ? a : b;
  }
  const Number exactZero{Kind::Zero, rounding == Rounding::Down, 0, 0};
  if (a.kind == Kind::Zero) return b.kind == Kind::Zero && a.negative != b.negative ? exactZero : b;
  if (b.kind == Kind::Zero) return a;
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) std::swap(a, b);
  // One bit is for the carry. At least twenty low bits of an operand are zero, so the shift is exact, and the bits that
  // the alignment loses are too low to become significant by cancellation.
  const Wide large = a.significand >> 1, small = shiftRightSticky(b.significand >> 1, a.exponent - b.exponent);
  const Wide total = a.negative == b.negative ? large + small : large - small;
  return total == 0 ? exactZero : finite(a.negative, a.exponent + 1, total);
}

Number quotient(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Kind::Nan || b.kind == Kind::Nan || (a.kind == b.kind && a.kind != Kind::Finite))
    return {Kind::Nan, false, 0, 0};
  if (a.kind == Kind::Infinity || b.kind == Kind::Zero) return {Kind::Infinity, negative, 0, 0};
  if (a.kind == Kind::Zero || b.kind == Kind::Infinity) return {Kind::Zero, negative, 0, 0};
  const Wide dividend = a.significand >> 1;
  const Wide divisor = b.significand >> 64;
  const Wide whole = dividend / divisor, rest = dividend % divisor;
  return finite(negative, a.exponent - b.exponent, whole << 64 | Wide{rest != 0});
}

Number root(const Number& a) {
  if (a.kind == Kind::Zero || a.kind == Kind::Nan) return a;
  if (a.negative) return {Kind::Nan, false, 0, 0};
  if (a.kind == Kind::Infinity) return a;
  // Makes the exponent even, and computes the root bit by bit.
  const bool isOdd = (a.exponent & 1) != 0;
  const Wide radicand = isOdd ? a.significand : a.significand >> 1;
  std::uint64_t r = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t candidate = r | std::uint64_t{1} << bit;
    if (static_cast<Wide>(candidate) * candidate <= radicand) r = candidate;
  }
  const bool isExact = static_cast<Wide>(r) * r == radicand;
  return finite(false, (a.exponent - (isOdd ? 1 : 0)) / 2, static_cast<Wide>(r) << 64 | Wide{!isExact});
}

Bits magnitudeMask(Format format) {
  const Layout layout = layoutOf(format);
  return (layout.sign() << layout.unused) - 1;
}
Bits signMask(Format format) {
  return magnitudeMask(format) + 1;
}

/// a < b, for two numbers that are not NaN; -0 is less than +0.
bool isLess(Format format, Bits a, Bits b) {
  const bool aNegative = (a & signMask(format)) != 0, bNegative = (b & signMask(format)) != 0;
  if (aNegative != bNegative) return aNegative;
  return aNegative ? a > b : a < b;
}

Bits extremum(Format format, Bits a, Bits b, bool nanWins, bool wantsLess) {
  const bool aNan = isNan(format, a), bNan = isNan(format, b);
  if (aNan || bNan) {
    if (nanWins || (aNan && bNan)) return canonicalNan(format);
    return aNan ? b : a;
  }
  return isLess(format, a, b) == wantsLess ? a : b;
}

template <typename T> T orNan(T value) {
  if (value == value) return value;
  if constexpr (sizeof(T) == 4)
    return floatOf(canonicalNan(Format::F32));
  else
    return doubleOf(canonicalNan(Format::F64));
}

/// The host's result for NearestEven; else the exact computation.
template <typename Native, typename Exact> auto rounded(Rounding rounding, Native native, Exact exact) {
  return rounding == Rounding::NearestEven ? orNan(native()) : exact();
}

} // namespace

Bits canonicalNan(Format format) {
  switch (format) {
  case Format::F16:
  case Format::BF16: return 0x7fff;
  case Format::E4M3:
  case Format::E5M2: return 0x7f;
  case Format::E2M1: return 0x7;
  case Format::E2M3:
  case Format::E3M2: return 0x1f;
  case Format::UE8M0: return 0xff;
  case Format::F64: return 0xfff8000000000000;
  case Format::TF32:
  case Format::F32: break;
  }
  return 0x7fffffff;
}

bool isNan(Format format, Bits value) {
  return unpack(format, value).kind == Kind::Nan;
}

Bits add(Format format, Bits a, Bits b, Rounding rounding) {
  return pack(format, sum(unpack(format, a), unpack(format, b), rounding), rounding);
}

Bits mul(Format format, Bits a, Bits b, Rounding rounding) {
  return pack(format, product(unpack(format, a), unpack(format, b)), rounding);
}

Bits fma(Format format, Bits a, Bits b, Bits c, Rounding rounding) {
  const Number exact = product(unpack(format, a), unpack(format, b));
  return pack(format, sum(exact, unpack(format, c), rounding), rounding);
}

Bits div(Format format, Bits a, Bits b, Rounding rounding) {
  return pack(format, quotient(unpack(format, a), unpack(format, b)), rounding);
}

Bits sqrt(Format format, Bits a, Rounding rounding) {
  return pack(format, root(unpack(format, a)), rounding);
}

Bits convert(Format to, Format from, Bits value, Rounding rounding, Overflow overflow) {
  const Layout source = layoutOf(from), target = layoutOf(to);
  // A NaN of 8 bits loses its sign and payload (observed on an H100).
  const bool hasEightBits = from == Format::E4M3 || from == Format::E5M2 || from == Format::UE8M0 || !source.hasNan;
  if (!hasEightBits && target.fractionBits > source.fractionBits && target.exponentBits >= source.exponentBits &&
      isNan(from, value)) {
    const Bits payload = value >> source.unused & source.fractionMask();
    const Bits quiet = Bits{1} << (target.fractionBits - 1);
    const Bits sign = (value >> source.unused & source.sign()) != 0 ? target.sign() : 0;
    const Bits fraction = payload << (target.fractionBits - source.fractionBits) | quiet;
    return (sign | target.exponentMask() << target.fractionBits | fraction) << target.unused;
  }
  return pack(to, unpack(from, value), rounding, overflow);
}

std::optional<Rounding> stochasticRounding(Format to, Bits value, std::uint32_t random) {
  const Layout source = layoutOf(Format::F32), target = layoutOf(to);
  if (to != Format::F16 && to != Format::BF16) return std::nullopt;
  const auto bias = [](const Layout& layout) { return static_cast<int>(layout.exponentMask() / 2); };
  const int exponent = static_cast<int>(value >> source.fractionBits & source.exponentMask()) - bias(source);
  const bool isNormal = exponent > -bias(target) && exponent <= bias(target);
  const bool hasSameRange = target.exponentBits == source.exponentBits; // then subnormals lose the same number of bits
  if (!isNormal && !(hasSameRange && exponent <= bias(target))) return std::nullopt;
  const unsigned lost = source.fractionBits - target.fractionBits;
  const Bits mask = (Bits{1} << lost) - 1;
  if (((value & mask) + (random & mask)) >> lost == 0) return Rounding::TowardZero;
  return (value & source.sign()) != 0 ? Rounding::Down : Rounding::Up;
}

Bits flush(Format format, Bits value) {
  const Layout layout = layoutOf(format);
  const Bits exponent = value >> (layout.fractionBits + layout.unused) & layout.exponentMask();
  return exponent != 0 ? value : value & signMask(format);
}

Bits saturate(Format format, Bits value) {
  const Bits one = pack(format, finite(false, 0, Wide{1} << 127), Rounding::NearestEven);
  if (isNan(format, value) || (value & signMask(format)) != 0) return 0;
  return value > one ? one : value;
}

Bits minimum(Format format, Bits a, Bits b, bool nanWins) {
  return extremum(format, a, b, nanWins, true);
}
Bits maximum(Format format, Bits a, Bits b, bool nanWins) {
  return extremum(format, a, b, nanWins, false);
}

Bits roundToIntegral(Format format, Bits value, Rounding rounding) {
  const Number n = unpack(format, value);
  if (n.kind == Kind::Nan) return canonicalNan(format);
  if (n.kind != Kind::Finite || n.exponent >= 127) return value;
  const Wide kept = roundShift(n.significand, 127 - n.exponent, n.negative, rounding);
  return pack(format, finite(n.negative, 127, kept), rounding);
}

Bits fromInteger(Format format, bool negative, std::uint64_t magnitude, Rounding rounding) {
  return pack(format, finite(negative && magnitude != 0, 127, magnitude), rounding);
}

std::uint64_t toInteger(Format format, Bits value, unsigned bits, bool isSigned, Rounding rounding, NanInteger nan) {
  const std::uint64_t highest = std::uint64_t{1} << (bits - 1);
  const std::uint64_t least = isSigned ? 0 - highest : 0;
  const std::uint64_t most = isSigned ? highest - 1 : highest - 1 + highest;
  const Number n = unpack(format, value);
  if (n.kind == Kind::Nan) return nan == NanInteger::Zero ? 0 : isSigned ? least : highest;
  if (n.kind == Kind::Zero) return 0;
  if (n.kind == Kind::Infinity || n.exponent >= 64) return n.negative ? least : most;
  const Wide magnitude = roundShift(n.significand, 127 - n.exponent, n.negative, rounding);
  if (n.negative) {
    if (!isSigned || magnitude >= highest) return least;
    return 0 - static_cast<std::uint64_t>(magnitude);
  }
  return magnitude > most ? most : static_cast<std::uint64_t>(magnitude);
}

float add(float a, float b, Rounding rounding) {
  return rounded(
      rounding, [&] { return a + b; }, [&] { return floatOf(add(Format::F32, bitsOf(a), bitsOf(b), rounding)); });
}
float mul(float a, float b, Rounding rounding) {
  return rounded(
      rounding, [&] { return a * b; }, [&] { return floatOf(mul(Format::F32, bitsOf(a), bitsOf(b), rounding)); });
}
float fma(float a, float b, float c, Rounding rounding) {
  return rounded(
      rounding, [&] { return std::fma(a, b, c); },
      [&] { return floatOf(fma(Format::F32, bitsOf(a), bitsOf(b), bitsOf(c), rounding)); });
}
float div(float a, float b, Rounding rounding) {
  return rounded(
      rounding, [&] { return a / b; }, [&] { return floatOf(div(Format::F32, bitsOf(a), bitsOf(b), rounding)); });
}
float divFlushed(float a, float b, Rounding rounding) {
  a = flush(a), b = flush(b);
  const float quotient = div(a, b, rounding);
  if (a == 0 || std::isinf(b) || !(std::fabs(quotient) <= 0x1p-125f)) return quotient;
  const float scaled = div(a * 0x1p64f, b, rounding);
  return std::fabs(scaled) < 0x1p-62f ? std::copysign(0.0f, scaled) : scaled * 0x1p-64f;
}
float sqrt(float a, Rounding rounding) {
  return rounded(
      rounding, [&] { return std::sqrt(a); }, [&] { return floatOf(sqrt(Format::F32, bitsOf(a), rounding)); });
}
double add(double a, double b, Rounding rounding) {
  return rounded(
      rounding, [&] { return a + b; }, [&] { return doubleOf(add(Format::F64, bitsOf(a), bitsOf(b), rounding)); });
}
double mul(double a, double b, Rounding rounding) {
  return rounded(
      rounding, [&] { return a * b; }, [&] { return doubleOf(mul(Format::F64, bitsOf(a), bitsOf(b), rounding)); });
}
double fma(double a, double b, double c, Rounding rounding) {
  return rounded(
      rounding, [&] { return std::fma(a, b, c); },
      [&] { return doubleOf(fma(Format::F64, bitsOf(a), bitsOf(b), bitsOf(c), rounding)); });
}
double div(double a, double b, Rounding rounding) {
  return rounded(
      rounding, [&] { return a / b; }, [&] { return doubleOf(div(Format::F64, bitsOf(a), bitsOf(b), rounding)); });
}
double sqrt(double a, Rounding rounding) {
  return rounded(
      rounding, [&] { return std::sqrt(a); }, [&] { return doubleOf(sqrt(Format::F64, bitsOf(a), rounding)); });
}

namespace approx {

namespace {

/// The sine of an angle in turns, plus `quarters` quarter turns. The reduction and the multiples of a quarter are
/// exact.
float sineOfTurns(float turns, unsigned quarters) {
  if (!std::isfinite(turns)) return floatOf(canonicalNan(Format::F32));
  const long double part = std::fmod(turns, 1.0f);
  const long double nearest = std::rint(part * 4);
  const long double angle = (part - nearest / 4) * 2 * std::numbers::pi_v<long double>;
  switch ((static_cast<unsigned>(static_cast<int>(nearest)) + quarters) & 3) {
  case 0: return static_cast<float>(std::sin(angle));
  case 1: return static_cast<float>(std::cos(angle));
  case 2: return static_cast<float>(-std::sin(angle));
  default: return static_cast<float>(-std::cos(angle));
  }
}

} // namespace

float rcp(float a) {
  return ieee::rcp(a);
}
float rsqrt(float a) {
  return orNan(static_cast<float>(1.0L / std::sqrt(static_cast<long double>(a))));
}
float sqrt(float a) {
  return ieee::sqrt(a);
}
float ex2(float a) {
  return orNan(static_cast<float>(std::exp2(static_cast<long double>(a))));
}
float lg2(float a) {
  return orNan(static_cast<float>(std::log2(static_cast<long double>(a))));
}
float sin(float a) {
  return orNan(static_cast<float>(std::sin(static_cast<long double>(a))));
}
float cos(float a) {
  return orNan(static_cast<float>(std::cos(static_cast<long double>(a))));
}
float sinTurns(float a) {
  return sineOfTurns(a, 0);
}
float cosTurns(float a) {
  return sineOfTurns(a, 1);
}
float tanh(float a) {
  return orNan(static_cast<float>(std::tanh(static_cast<long double>(a))));
}

} // namespace approx

} // namespace orias::ieee

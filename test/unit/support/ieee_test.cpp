// Compares the arithmetic with the host's floating-point unit in each of its rounding modes, with exact sums of small
// formats that are rounded by search in the list of all their values, and with results from the PTX manual.

#include "support/ieee.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

using namespace orias;
using ieee::Bits;
using ieee::Format;
using ieee::NanInteger;
using ieee::Overflow;
using ieee::Rounding;

namespace {

/// Sets another rounding mode of the host.
class HostRounding {
 public:
  explicit HostRounding(Rounding rounding) {
    constexpr int kModes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~HostRounding() { std::fesetround(FE_TONEAREST); }
};

constexpr Rounding kDirections[] = {Rounding::NearestEven, Rounding::Down, Rounding::Up, Rounding::TowardZero};

/// Operands that cover all cases: special values, numbers next to powers of two, similar exponents.
template <typename T, typename Word> class Operands {
 public:
  T next() {
    constexpr unsigned kFraction = std::numeric_limits<T>::digits - 1;
    constexpr Word kExponents = (Word{1} << (8 * sizeof(T) - 1 - kFraction)) - 1;
    Word exponent = static_cast<Word>(random_()) & kExponents, fraction = static_cast<Word>(random_());
    switch (random_() % 8) {
    case 0: exponent = 0; break;
    case 1: exponent = kExponents; break;
    case 2:
    case 3:
    case 4: exponent = kExponents / 2 - 4 + static_cast<Word>(random_() % 9); break;
    default: break;
    }
    switch (random_() % 4) {
    case 0: fraction = 0; break;
    case 1: fraction = ~Word{0} << (random_() % kFraction); break;
    case 2: fraction = random_() % 4; break;
    default: break;
    }
    fraction &= (Word{1} << kFraction) - 1;
    const Word sign = random_() & 1;
    return std::bit_cast<T>(static_cast<Word>(sign << (8 * sizeof(T) - 1) | exponent << kFraction | fraction));
  }

 private:
  std::mt19937_64 random_{42};
};

template <typename T> bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || ieee::bitsOf(a) == ieee::bitsOf(b);
}

template <typename T, typename Word> void compareWithHost() {
  Operands<T, Word> operands;
  for (int i = 0; i < 30000; ++i) {
    const volatile T a = operands.next(), b = operands.next(), c = operands.next();
    for (const Rounding r : kDirections) {
      volatile T sum, product, fused, quotient, root; // computed in this mode
      {
        HostRounding mode(r);
        sum = a + b;
        product = a * b;
        fused = std::fma(a, b, c);
        quotient = a / b;
        root = std::sqrt(a);
      }
      CAPTURE(a);
      CAPTURE(b);
      CAPTURE(c);
      CAPTURE(static_cast<int>(r));
      REQUIRE(same<T>(ieee::add(a, b, r), sum));
      REQUIRE(same<T>(ieee::mul(a, b, r), product));
      REQUIRE(same<T>(ieee::fma(a, b, c, r), fused));
      REQUIRE(same<T>(ieee::div(a, b, r), quotient));
      REQUIRE(same<T>(ieee::sqrt(a, r), root));
      // Also the exact computation of NearestEven, for which the functions on float and double use the host.
      constexpr Format kFormat = sizeof(T) == 4 ? Format::F32 : Format::F64;
      if (r != Rounding::NearestEven) continue;
      const Bits x = ieee::bitsOf(T{a}), y = ieee::bitsOf(T{b}), z = ieee::bitsOf(T{c});
      REQUIRE(ieee::add(kFormat, x, y) == ieee::bitsOf(ieee::add(T{a}, T{b})));
      REQUIRE(ieee::mul(kFormat, x, y) == ieee::bitsOf(ieee::mul(T{a}, T{b})));
      REQUIRE(ieee::fma(kFormat, x, y, z) == ieee::bitsOf(ieee::fma(T{a}, T{b}, T{c})));
      REQUIRE(ieee::div(kFormat, x, y) == ieee::bitsOf(ieee::div(T{a}, T{b})));
      REQUIRE(ieee::sqrt(kFormat, x) == ieee::bitsOf(ieee::sqrt(T{a})));
    }
  }
}

/// All non-negative finite values of a small format, in the order of their bits.
std::vector<double> valuesOf(Format format, unsigned count) {
  std::vector<double> values;
  for (unsigned bits = 0; bits < count; ++bits)
    values.push_back(ieee::doubleOf(ieee::convert(Format::F64, format, bits)));
  return values;
}

/// The bits of the listed value to which `exact` rounds; nullopt if it is above the last.
std::optional<unsigned> roundBySearch(const std::vector<double>& values, double exact, Rounding rounding) {
  const double magnitude = std::fabs(exact);
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  if (above == values.end()) return std::nullopt;
  const auto high = static_cast<unsigned>(above - values.begin());
  if (*above == magnitude) return high;
  const unsigned low = high - 1;
  const bool negative = std::signbit(exact);
  switch (rounding) {
  case Rounding::TowardZero: return low;
  case Rounding::Down: return negative ? high : low;
  case Rounding::Up: return negative ? low : high;
  default: break;
  }
  const double toLow = magnitude - values[low], toHigh = values[high] - magnitude;
  if (toLow != toHigh) return toLow < toHigh ? low : high;
  if (rounding == Rounding::NearestAway) return high;
  return (low & 1) == 0 ? low : high;
}

} // namespace

TEST_CASE("f32 arithmetic equals the host's in every rounding mode") {
  compareWithHost<float, std::uint32_t>();
}

TEST_CASE("f64 arithmetic equals the host's in every rounding mode") {
  compareWithHost<double, std::uint64_t>();
}

TEST_CASE("f64 rounds to f32 as the host does") {
  Operands<double, std::uint64_t> operands;
  Operands<float, std::uint32_t> narrow;
  for (int i = 0; i < 30000; ++i) {
    // Half of them are near floats: ties and adjacent numbers.
    volatile double value = operands.next();
    if (i % 2 == 0) value = ieee::doubleOf(ieee::bitsOf(static_cast<double>(narrow.next())) + (i % 8 - 4));
    if (i % 4 == 0) value = ieee::doubleOf(ieee::bitsOf(double{value}) ^ Bits{1} << 28);
    for (const Rounding r : kDirections) {
      volatile float expected;
      {
        HostRounding mode(r);
        expected = static_cast<float>(value);
      }
      CAPTURE(value);
      REQUIRE(same<float>(ieee::toFloat(value, r), expected));
    }
  }
}

TEST_CASE("small formats round as a search among all their values says") {
  struct Case {
    Format format;
    unsigned finite; ///< number of non-negative finite values
  };
  for (const Case c :
       {Case{Format::F16, 0x7c00}, Case{Format::BF16, 0x7f80}, Case{Format::E4M3, 0x7f}, Case{Format::E5M2, 0x7c}}) {
    const std::vector<double> values = valuesOf(c.format, c.finite);
    REQUIRE(std::is_sorted(values.begin(), values.end()));
    std::mt19937_64 random(7);
    for (int i = 0; i < 40000; ++i) {
      // A value, a midpoint, or a number next to these.
      const unsigned low = static_cast<unsigned>(random() % (c.finite - 1));
      const double middle = (values[low] + values[low + 1]) / 2;
      const double around[] = {values[low], middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300),
                               std::ldexp(static_cast<double>(random()), -64) * values[low]};
      double exact = around[random() % 5];
      if (random() & 1) exact = -exact;
      for (const Rounding r :
           {Rounding::NearestEven, Rounding::Down, Rounding::Up, Rounding::TowardZero, Rounding::NearestAway}) {
        const auto expected = roundBySearch(values, exact, r);
        REQUIRE(expected);
        const Bits result = ieee::convert(c.format, Format::F64, ieee::bitsOf(exact), r);
        const Bits sign = c.format == Format::F16 || c.format == Format::BF16 ? 0x8000 : 0x80;
        CAPTURE(exact);
        CAPTURE(static_cast<int>(r));
        REQUIRE((result & ~sign) == *expected);
        REQUIRE(((result & sign) != 0) == std::signbit(exact));
      }
    }
  }
}

TEST_CASE("f16 and bf16 arithmetic rounds once") {
  for (const Format format : {Format::F16, Format::BF16}) {
    const std::vector<double> values = valuesOf(format, format == Format::F16 ? 0x7c00 : 0x7f80);
    std::mt19937_64 random(11);
    for (int i = 0; i < 30000; ++i) {
      const Bits a = random() & 0xffff, b = random() & 0xffff, c = random() & 0xffff;
      const auto value = [&](Bits bits) { return ieee::doubleOf(ieee::convert(Format::F64, format, bits)); };
      const auto check = [&](Bits result, long double exact) {
        // Only cases in which a double holds the exact result.
        if (!std::isfinite(exact) || exact == 0 || static_cast<long double>(static_cast<double>(exact)) != exact)
          return;
        const auto expected = roundBySearch(values, static_cast<double>(exact), Rounding::NearestEven);
        if (expected) REQUIRE((result & 0x7fff) == *expected);
      };
      const long double x = value(a), y = value(b), z = value(c);
      check(ieee::mul(format, a, b), x * y);
      std::feclearexcept(FE_INEXACT);
      const volatile long double sum = x + y;
      if (!std::fetestexcept(FE_INEXACT)) check(ieee::add(format, a, b), sum);
      std::feclearexcept(FE_INEXACT);
      const volatile long double fused = x * y + z;
      if (!std::fetestexcept(FE_INEXACT)) check(ieee::fma(format, a, b, c), fused);
    }
  }
  // 1 + 2^-11 is a tie in f16: the product alone would round to 1, and so would the sum of it and 2^-20.
  CHECK(ieee::fma(Format::F16, 0x3c01, 0x3c01, 0x0000) == 0x3c02);
  CHECK(ieee::fma(Format::F16, 0x0400, 0x3c00, 0x8400) == 0);
}

TEST_CASE("narrow conversions overflow as the manual says") {
  const auto from = [](float value) { return ieee::bitsOf(value); };
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(ieee::convert(Format::F16, Format::F32, from(65519.0f)) == 0x7bff);
  CHECK(ieee::convert(Format::F16, Format::F32, from(65520.0f)) == 0x7c00);
  CHECK(ieee::convert(Format::F16, Format::F32, from(-65520.0f), Rounding::TowardZero) == 0xfbff);
  CHECK(ieee::convert(Format::F16, Format::F32, from(1e30f), Rounding::NearestEven, Overflow::Finite) == 0x7bff);
  CHECK(ieee::convert(Format::F16, Format::F32, from(-inf), Rounding::TowardZero) == 0xfc00);
  CHECK(ieee::convert(Format::F16, Format::F32, from(-inf), Rounding::NearestEven, Overflow::Finite) == 0xfbff);
  CHECK(ieee::convert(Format::E4M3, Format::F32, from(448.0f)) == 0x7e);
  CHECK(ieee::convert(Format::E4M3, Format::F32, from(465.0f)) == 0x7f);
  CHECK(ieee::convert(Format::E4M3, Format::F32, from(-465.0f), Rounding::NearestEven, Overflow::Finite) == 0xfe);
  CHECK(ieee::convert(Format::E5M2, Format::F32, from(1e9f), Rounding::NearestEven, Overflow::Finite) == 0x7b);
  CHECK(ieee::convert(Format::E5M2, Format::F32, from(1e9f)) == 0x7c);
  CHECK(ieee::convert(Format::E5M2, Format::F32, 0xffc00000, Rounding::NearestEven, Overflow::Finite) == 0x7f);
  CHECK(ieee::convert(Format::F16, Format::E4M3, 0x01) == 0x1800); // 2^-9
  // tf32: ties away from zero, thirteen low bits dropped.
  CHECK(ieee::convert(Format::TF32, Format::F32, 0x3f801000, Rounding::NearestAway) == 0x3f802000);
  CHECK(ieee::convert(Format::TF32, Format::F32, 0x3f801000, Rounding::NearestEven) == 0x3f800000);
  CHECK(ieee::convert(Format::TF32, Format::F32, 0x7fc00000) == 0x7fffffff);
  CHECK(ieee::convert(Format::F32, Format::TF32, 0x3f801fff) == 0x3f800000);
  CHECK(ieee::halfToFloat(0x0001) == 0x1p-24f);
  CHECK(ieee::bitsOf(ieee::halfToFloat(0xfc00)) == 0xff800000);
  CHECK(std::isnan(ieee::bfloatToFloat(0x7f81)));
  CHECK(ieee::bitsOf(ieee::toDouble(ieee::floatOf(0x7fffffff))) == 0x7fffffffe0000000);
}

TEST_CASE("floats become integers by rounding, then clamping") {
  const auto u8 = [](float v) { return ieee::toInteger(v, 8, false, Rounding::TowardZero, NanInteger::Zero); };
  CHECK(u8(255.9f) == 255);
  CHECK(u8(256.0f) == 255);
  CHECK(u8(-0.5f) == 0);
  CHECK(u8(-3.0f) == 0);
  const auto s8 = [](float v) { return ieee::toInteger(v, 8, true, Rounding::NearestEven, NanInteger::Zero); };
  CHECK(s8(-128.5f) == static_cast<std::uint64_t>(-128));
  CHECK(s8(-1e9f) == static_cast<std::uint64_t>(-128));
  CHECK(s8(126.5f) == 126);
  CHECK(s8(127.5f) == 127);
  CHECK(s8(-2.5f) == static_cast<std::uint64_t>(-2));
  const auto s64 = [](double v, Rounding r) { return ieee::toInteger(v, 64, true, r, NanInteger::HighestBit); };
  CHECK(s64(9.3e18, Rounding::TowardZero) == 0x7fffffffffffffff);
  CHECK(s64(-0x1p63, Rounding::TowardZero) == 0x8000000000000000);
  CHECK(s64(-1.25, Rounding::Down) == static_cast<std::uint64_t>(-2));
  CHECK(s64(-1.25, Rounding::Up) == static_cast<std::uint64_t>(-1));
  CHECK(s64(1.25, Rounding::Up) == 2);
  CHECK(s64(std::nan(""), Rounding::Up) == 0x8000000000000000);
  CHECK(ieee::toInteger(0x1.fffffffffffffp63, 64, false, Rounding::TowardZero, NanInteger::Zero) == 0xfffffffffffff800);
  CHECK(ieee::toInteger(std::nan(""), 32, false, Rounding::Up, NanInteger::HighestBit) == 0x80000000);
  CHECK(ieee::toInteger(std::nanf(""), 32, true, Rounding::Up, NanInteger::Zero) == 0);
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -static_cast<int>(random() % 70));
    for (const Rounding r : kDirections) {
      volatile double rounded;
      {
        HostRounding mode(r);
        const volatile double v = value;
        rounded = std::nearbyint(v);
      }
      REQUIRE(same<double>(ieee::roundToIntegral(value, r), rounded));
      REQUIRE(s64(value, r) == (rounded >= 0x1p63 ? 0x7fffffffffffffff
                                                  : static_cast<std::uint64_t>(static_cast<std::int64_t>(rounded))));
    }
  }
}

TEST_CASE("integers become floats rounded once") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const auto value = static_cast<std::int64_t>(random()) >> random() % 64;
    for (const Rounding r : kDirections) {
      volatile std::int64_t v = value;
      volatile float narrow, fromUnsigned;
      volatile double wide;
      {
        HostRounding mode(r);
        narrow = static_cast<float>(v);
        wide = static_cast<double>(v);
        // The host has no conversion of unsigned words; long double represents them exactly.
        const volatile long double exact = static_cast<std::uint64_t>(v);
        fromUnsigned = static_cast<float>(exact);
      }
      REQUIRE(ieee::floatOf(ieee::fromSigned(Format::F32, value, r)) == narrow);
      REQUIRE(ieee::doubleOf(ieee::fromSigned(Format::F64, value, r)) == wide);
      REQUIRE(ieee::floatOf(ieee::fromUnsigned(Format::F32, static_cast<std::uint64_t>(value), r)) == fromUnsigned);
    }
  }
  CHECK(ieee::fromSigned(Format::F16, 65520) == 0x7c00);
  CHECK(ieee::fromSigned(Format::F16, -2049) == 0xe800);
  CHECK(ieee::fromSigned(Format::F32, 0, Rounding::Down) == 0);
}

TEST_CASE("minimum and maximum follow the manual for NaN and signed zeros") {
  const float nan = ieee::floatOf(0xffc12345);
  CHECK(ieee::minimum(nan, 1.0f) == 1.0f);
  CHECK(ieee::maximum(-2.0f, nan) == -2.0f);
  CHECK(ieee::bitsOf(ieee::maximum(nan, nan)) == 0x7fffffff);
  CHECK(ieee::bitsOf(ieee::minimum(nan, 1.0f, true)) == 0x7fffffff);
  CHECK(ieee::bitsOf(ieee::minimum(0.0f, -0.0f)) == 0x80000000);
  CHECK(ieee::bitsOf(ieee::maximum(-0.0f, 0.0f)) == 0);
  CHECK(ieee::minimum(-3.0, -2.0) == -3.0);
  CHECK(ieee::maximum(-3.0, -2.0) == -2.0);
  CHECK(ieee::minimum(Format::F16, 0x3c00, 0xbc00) == 0xbc00);
}

TEST_CASE("flushing keeps the sign, saturation drops NaN and minus zero") {
  CHECK(ieee::bitsOf(ieee::flush(ieee::floatOf(0x807fffff))) == 0x80000000);
  CHECK(ieee::bitsOf(ieee::flush(ieee::floatOf(0x00800000))) == 0x00800000);
  CHECK(ieee::flush(Format::F16, 0x83ff) == 0x8000);
  CHECK(ieee::bitsOf(ieee::saturate(std::nanf(""))) == 0);
  CHECK(ieee::bitsOf(ieee::saturate(-0.0f)) == 0);
  CHECK(ieee::saturate(1.5f) == 1.0f);
  CHECK(ieee::saturate(0.25f) == 0.25f);
  CHECK(ieee::saturate(-std::numeric_limits<double>::infinity()) == 0.0);
  CHECK(ieee::saturate(Format::BF16, 0x7f80) == 0x3f80);
}

TEST_CASE("operations that give NaN give the canonical one") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Rounding r : kDirections) {
    CHECK(ieee::bitsOf(ieee::add(inf, -inf, r)) == 0x7fffffff);
    CHECK(ieee::bitsOf(ieee::mul(ieee::floatOf(0xffc00001), 1.0f, r)) == 0x7fffffff);
    CHECK(ieee::bitsOf(ieee::fma(0.0, std::numeric_limits<double>::infinity(), 1.0, r)) == 0xfff8000000000000);
    CHECK(ieee::bitsOf(ieee::sqrt(-1.0f, r)) == 0x7fffffff);
  }
  CHECK(ieee::add(Format::F16, 0x7c00, 0xfc00) == 0x7fff);
}

TEST_CASE("approximations are the nearest floats of the exact functions") {
  using namespace ieee;
  CHECK(approx::rcp(3.0f) == 1.0f / 3.0f);
  CHECK(bitsOf(approx::rcp(-0.0f)) == 0xff800000);
  CHECK(approx::rsqrt(4.0f) == 0.5f);
  CHECK(bitsOf(approx::rsqrt(-0.0f)) == 0xff800000);
  CHECK(bitsOf(approx::rsqrt(-1.0f)) == 0x7fffffff);
  CHECK(approx::ex2(-149.0f) == 0x1p-149f);
  CHECK(approx::ex2(0.5f) == static_cast<float>(std::sqrt(2.0L)));
  CHECK(bitsOf(approx::lg2(0.0f)) == 0xff800000);
  CHECK(approx::lg2(0x1p-149f) == -149.0f);
  CHECK(bitsOf(approx::lg2(-1.0f)) == 0x7fffffff);
  CHECK(approx::sinTurns(0.25f) == 1.0f);
  CHECK(approx::sinTurns(-0.25f) == -1.0f);
  CHECK(approx::sinTurns(0.5f) == 0.0f);
  CHECK(approx::cosTurns(0.25f) == 0.0f);
  CHECK(approx::cosTurns(1234567.0f) == 1.0f);
  CHECK(approx::cosTurns(-0.5f) == -1.0f);
  CHECK(approx::sinTurns(0.125f) == static_cast<float>(std::sqrt(0.5L)));
  CHECK(std::isnan(approx::sinTurns(std::numeric_limits<float>::infinity())));
  CHECK(approx::tanh(100.0f) == 1.0f);
  CHECK(bitsOf(approx::sin(-0.0f)) == 0x80000000);
  std::mt19937 random(9);
  for (int i = 0; i < 2000; ++i) {
    const float turns = std::ldexp(static_cast<float>(random()), -28) - 8.0f;
    const long double angle = 2 * 3.14159265358979323846264338327950288L * turns;
    REQUIRE(std::fabs(approx::sinTurns(turns) - std::sin(angle)) < 6.1e-8L);
    REQUIRE(std::fabs(approx::cosTurns(turns) - std::cos(angle)) < 6.1e-8L);
  }
}

TEST_CASE("a quotient is rounded before it is flushed") {
  const auto quotient = [](std::uint32_t a, std::uint32_t b, Rounding rounding) {
    return ieee::bitsOf(ieee::divFlushed(ieee::floatOf(a), ieee::floatOf(b), rounding));
  };
  // (1 - 2^-24) 2^-126 is exact if exponents are unbounded; as a subnormal it is a tie.
  CHECK(quotient(0x3f7fffff, 0x7e800000, Rounding::NearestEven) == 0);
  CHECK(quotient(0x3f7fffff, 0x7e800000, Rounding::Up) == 0);
  CHECK(quotient(0xbf7fffff, 0x7e800000, Rounding::Down) == 0x80000000);
  CHECK(quotient(0x3f800000, 0x7e800000, Rounding::NearestEven) == 0x00800000);
  CHECK(quotient(0x3f7ffffe, 0x7e7fffff, Rounding::Up) == 0);
  CHECK(quotient(0x00400000, 0x00800000, Rounding::NearestEven) == 0); // the dividend is flushed
  CHECK(quotient(0x7f7fffff, 0x00800000, Rounding::TowardZero) == 0x7f7fffff);
}

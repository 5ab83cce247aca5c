#include "encoder/isa/float_text.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace orias::isa {

namespace {

struct Layout {
  unsigned exponentBits, mantissaBits;
};

constexpr Layout layoutOf(FloatFormat format) {
  switch (format) {
  case FloatFormat::F16: return {5, 10};
  case FloatFormat::Bf16: return {8, 7};
  case FloatFormat::F32: return {8, 23};
  case FloatFormat::F64: break;
  }
  return {11, 52};
}

struct Fields {
  bool negative;
  std::uint64_t exponent, mantissa;
  std::uint64_t maxExponent;
};

Fields split(std::uint64_t bits, Layout l) {
  const std::uint64_t maxExponent = (std::uint64_t{1} << l.exponentBits) - 1;
  return {(bits >> (l.exponentBits + l.mantissaBits) & 1) != 0, bits >> l.mantissaBits & maxExponent,
          bits & ((std::uint64_t{1} << l.mantissaBits) - 1), maxExponent};
}

/// Rounds a finite double to the format, to nearest even.
std::uint64_t pack(double value, Layout l) {
  const std::uint64_t sign = std::uint64_t{std::signbit(value)} << (l.exponentBits + l.mantissaBits);
  const int bias = (1 << (l.exponentBits - 1)) - 1;
  double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude = f * 2^exponent, f in [0.5, 1)
  int biased = exponent - 1 + bias;
  if (biased < 1) biased = 1; // subnormal
  const double scaled = std::ldexp(magnitude, static_cast<int>(l.mantissaBits) - (biased - bias));
  const auto mantissa = static_cast<std::uint64_t>(std::nearbyint(scaled));
  // A subnormal has no hidden bit: the sum gives an exponent field of 0.
  const std::uint64_t hidden = std::uint64_t{1} << l.mantissaBits;
  const std::uint64_t packed = (static_cast<std::uint64_t>(biased) << l.mantissaBits) + mantissa - hidden;
  const std::uint64_t infinity = ((std::uint64_t{1} << l.exponentBits) - 1) << l.mantissaBits;
  return sign | (packed > infinity ? infinity : packed);
}

} // namespace

std::string floatText(std::uint64_t bits, FloatFormat format) {
  const Layout l = layoutOf(format);
  const Fields f = split(bits, l);
  const char* sign = f.negative ? "-" : "+";
  if (f.exponent == f.maxExponent) {
    if (f.mantissa == 0) return std::string(sign) + "INF";
    const bool quiet = (f.mantissa >> (l.mantissaBits - 1)) != 0;
    return std::string(sign) + (quiet ? "QNAN" : "SNAN");
  }
  const int bias = static_cast<int>(f.maxExponent / 2);
  const int exponent = (f.exponent == 0 ? 1 : static_cast<int>(f.exponent)) - bias - static_cast<int>(l.mantissaBits);
  const std::uint64_t hidden = f.exponent == 0 ? 0 : std::uint64_t{1} << l.mantissaBits;
  const double value = std::ldexp(static_cast<double>(f.mantissa | hidden), exponent);
  if (value == 0) return f.negative ? "-0.0" : "0";
  std::array<char, 48> text;
  // Large values always have all twenty digits.
  std::snprintf(text.data(), text.size(), value >= 1e9 ? "%.20e" : "%.20g", f.negative ? -value : value);
  return text.data();
}

std::optional<std::uint64_t> parseFloat(std::string_view text, FloatFormat format) {
  const Layout l = layoutOf(format);
  const std::uint64_t infinity = ((std::uint64_t{1} << l.exponentBits) - 1) << l.mantissaBits;
  const std::uint64_t sign = std::uint64_t{1} << (l.exponentBits + l.mantissaBits);
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  const std::uint64_t signBit = negative ? sign : 0;
  if (rest == "INF") return signBit | infinity;
  if (rest == "QNAN") return signBit | infinity | (std::uint64_t{1} << (l.mantissaBits - 1));
  // Not the lowest bit: an immediate has only the high half of an f64.
  if (rest == "SNAN") return signBit | infinity | (std::uint64_t{1} << (l.mantissaBits - 2));
  const std::string owned(rest);
  char* end = nullptr;
  const double value = std::strtod(owned.c_str(), &end);
  if (owned.empty() || end != owned.c_str() + owned.size()) return std::nullopt;
  if (format == FloatFormat::F64) return std::bit_cast<std::uint64_t>(negative ? -value : value);
  return pack(negative ? -value : value, l);
}

} // namespace orias::isa

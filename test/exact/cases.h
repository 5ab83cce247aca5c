#pragma once

#include <cstdint>
#include <random>
#include <utility>

namespace orias::exact {

enum class Operation { Div, Rcp, Sqrt, Rsqrt };

/// Arguments of f64 for an operation; the second counts for divisions only.
using Case = std::pair<std::uint64_t, std::uint64_t>;

/// Gives arguments without end: first every pair of special numbers, then in turn
/// - random bits;
/// - numbers of moderate size;
/// - few significant bits, so that results are exact or midpoints;
/// - a divisor, and the dividend whose quotient is as near as can be to a number or the middle of two (the mantissa
///   solves a congruence); for roots, a radicand next to the square of such;
/// - exponents at which the result is subnormal, or nearly infinite, and so are arguments.
class Cases {
 public:
  Cases(Operation operation, std::uint64_t seed) : operation_(operation), random_(seed) {}
  Case next();

 private:
  std::uint64_t anyMantissa();
  Case nearMiddle();
  Case extreme();

  Operation operation_;
  std::mt19937_64 random_;
  std::uint64_t count_ = 0;
};

} // namespace orias::exact

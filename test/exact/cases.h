#pragma once

#include "test/exact/operation.h"

#include <memory>
#include <optional>
#include <vector>

namespace orias::exact {

/// Generates arguments for an operation.
class Cases {
 public:
  virtual ~Cases() = default;
  virtual Case next() = 0;
};

/// Unlimited arguments: first every pair of special numbers. Then, in rotation: random bits, numbers of moderate size,
/// few significant bits (so that results are exact or midpoints), arguments whose result is as near as possible to a
/// number or to a midpoint, and arguments at the ends of the range.
std::unique_ptr<Cases> doubleCases(const Operation& operation, std::uint64_t seed);
std::unique_ptr<Cases> floatCases(const Operation& operation, std::uint64_t seed);
/// Numbers of all sizes, numbers next to powers of two, and multiples of the divisor (which may be fixed) with adjacent
/// numbers.
std::unique_ptr<Cases> integerCases(const Operation& operation, std::uint64_t seed,
                                    std::optional<std::uint64_t> divisor = {});
/// `count` divisors: small ones, powers of two and adjacent numbers, the negations of all of these, then random ones.
std::vector<std::uint64_t> divisors(const Operation& operation, std::uint64_t seed, std::size_t count);

/// An f32 dividend a for which a / b is as near as possible to a number of `bits` significant bits. b is a mantissa of
/// 24 bits, `error` is small and not 0, `choice` is random. `bits` is 24 for numbers and 25 for midpoints.
Case nearQuotient(std::uint64_t b, unsigned bits, int error, std::uint64_t choice);

} // namespace orias::exact

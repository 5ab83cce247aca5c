#pragma once

#include "test/exact/operation.h"

#include <memory>
#include <optional>
#include <vector>

namespace orias::exact {

/// Gives arguments for an operation.
class Cases {
 public:
  virtual ~Cases() = default;
  virtual Case next() = 0;
};

/// Arguments without end: first every pair of special numbers, then in turn random bits, numbers of moderate size, few
/// significant bits (so that results are exact or midpoints), those whose result is as near as can be to a number or
/// the middle of two, and those at the ends of the range.
std::unique_ptr<Cases> doubleCases(const Operation& operation, std::uint64_t seed);
std::unique_ptr<Cases> floatCases(const Operation& operation, std::uint64_t seed);
/// Numbers of all sizes, next to powers of two, and multiples of the divisor (which may be given) with what is next to
/// them.
std::unique_ptr<Cases> integerCases(const Operation& operation, std::uint64_t seed,
                                    std::optional<std::uint64_t> divisor = {});
/// So many divisors: small ones, powers of two and their neighbours, all of those negated, then random ones.
std::vector<std::uint64_t> divisors(const Operation& operation, std::uint64_t seed, std::size_t count);

/// The f32 dividend for which a / b is as near as can be to a number of `bits` significant bits, or one of those: b is
/// a mantissa of 24 bits, `error` small and not 0, `choice` random. `bits` is 24 for numbers and 25 for middles of two.
Case nearQuotient(std::uint64_t b, unsigned bits, int error, std::uint64_t choice);

} // namespace orias::exact

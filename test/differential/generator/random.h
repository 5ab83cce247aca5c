#pragma once

#include "tools/launch/random.h"

#include <cstdint>
#include <iterator>

namespace orias::generator {

/// The random choices of the generator. Programs are identified by their seeds, so the results of these functions for a
/// seed must never change.
class Random {
 public:
  explicit Random(std::uint64_t seed) : stream_(seed) {}

  std::uint64_t next() { return stream_.bits(); }
  /// 0 … bound - 1.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  /// low … high, both included.
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  bool percent(unsigned chance) { return below(100) < chance; }
  template <typename Range> const auto& pick(const Range& range) {
    return *(std::begin(range) + below(static_cast<std::uint32_t>(std::size(range))));
  }

 private:
  launch::Random stream_;
};

} // namespace orias::generator

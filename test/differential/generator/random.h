#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace orias::generator {

/// A stream of random numbers that is the same everywhere: SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014). Distributions of the standard library differ between its implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// 0 … bound - 1.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  /// low … high, both included.
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  bool percent(unsigned chance) { return below(100) < chance; }
  template <typename Range> const auto& pick(const Range& range) {
    return *(std::begin(range) + below(static_cast<std::uint32_t>(std::size(range))));
  }

 private:
  std::uint64_t state_;
};

} // namespace orias::generator

#pragma once

#include <cstdint>

namespace orias::launch {

/// The generator behind "random" buffers: SplitMix64 (Steele, Lea and Flood, 2014). The same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Below `bound`, which is not 0. Uses the remainder: the bias is below 2^-32 for bounds of 32 bits.
  std::uint64_t below(std::uint64_t bound) { return bits() % bound; }
  /// In [0, 1), 53 bits.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

} // namespace orias::launch

#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace orias::fuzz {

using Sample = std::vector<std::uint8_t>;

/// Applies a few random changes: changes bytes and bits, and removes, duplicates or copies parts from another seed.
inline Sample mutate(std::span<const Sample> seeds, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  Sample input = seeds[below(seeds.size())];
  for (std::size_t changes = 1 + below(4); changes > 0 && !input.empty(); --changes) {
    const auto at = static_cast<std::ptrdiff_t>(below(input.size()));
    const auto length = static_cast<std::ptrdiff_t>(1 + below(std::min<std::size_t>(input.size() - at, 32)));
    switch (below(5)) {
    case 0: input[at] = static_cast<std::uint8_t>(random()); break;
    case 1: input[at] ^= static_cast<std::uint8_t>(1u << below(8)); break;
    case 2: input.erase(input.begin() + at, input.begin() + at + length); break;
    case 3: {
      const Sample piece(input.begin() + at, input.begin() + at + length);
      input.insert(input.begin() + static_cast<std::ptrdiff_t>(below(input.size())), piece.begin(), piece.end());
      break;
    }
    default: {
      const Sample& other = seeds[below(seeds.size())];
      if (other.empty()) break;
      const std::size_t from = below(other.size());
      const std::size_t count = std::min<std::size_t>(1 + below(32), other.size() - from);
      input.insert(input.begin() + at, other.begin() + static_cast<std::ptrdiff_t>(from),
                   other.begin() + static_cast<std::ptrdiff_t>(from + count));
      break;
    }
    }
  }
  return input;
}

} // namespace orias::fuzz

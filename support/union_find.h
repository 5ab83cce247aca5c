#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace orias {

/// Disjoint sets of the numbers below a count. Each has one of its numbers as its root.
class UnionFind {
 public:
  explicit UnionFind(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0u); }

  std::uint32_t root(std::uint32_t number) {
    while (parent_[number] != number)
      number = parent_[number] = parent_[parent_[number]];
    return number;
  }
  /// Merges the set of `other` into that of `into`, whose root remains the root.
  void join(std::uint32_t into, std::uint32_t other) { parent_[root(other)] = root(into); }

 private:
  std::vector<std::uint32_t> parent_;
};

} // namespace orias

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace orias {

/// A set of small numbers, for data-flow analyses. The sets that an operation combines have the same size.
class BitSet {
 public:
  BitSet() = default;
  explicit BitSet(std::size_t size) { resize(size); }
  void resize(std::size_t size) { words_.resize((size + 63) / 64, 0); }
  void clear() { words_.assign(words_.size(), 0); }

  bool test(std::size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void reset(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }

  /// this |= other; true when that added something.
  bool unite(const BitSet& other) {
    std::uint64_t changed = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      changed |= other.words_[w] & ~words_[w];
      words_[w] |= other.words_[w];
    }
    return changed != 0;
  }
  /// this |= add | (from & ~except); true when that added something: the step of a backward data-flow analysis.
  bool uniteWithDifference(const BitSet& add, const BitSet& from, const BitSet& except) {
    std::uint64_t changed = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      std::uint64_t now = words_[w] | add.words_[w] | (from.words_[w] & ~except.words_[w]);
      changed |= now ^ words_[w];
      words_[w] = now;
    }
    return changed != 0;
  }
  void intersect(const BitSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w)
      words_[w] &= other.words_[w];
  }
  void subtract(const BitSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w)
      words_[w] &= ~other.words_[w];
  }
  std::size_t count() const {
    std::size_t n = 0;
    for (std::uint64_t w : words_)
      n += static_cast<std::size_t>(std::popcount(w));
    return n;
  }
  /// Calls f(i) for each member in ascending order.
  template <typename F> void forEach(F&& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t bits = words_[w]; bits; bits &= bits - 1)
        f(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
  }
  friend bool operator==(const BitSet&, const BitSet&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

} // namespace orias

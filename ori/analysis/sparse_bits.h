#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace orias::ori {

/// A set of small integers with memory proportional to its members: 64-bit words in ascending order.
class SparseBits {
 public:
  /// Adds the members 64 * index + i for each bit i. `index` must be greater than in all earlier calls.
  void appendWord(std::uint32_t index, std::uint64_t bits) { chunks_.push_back({index, bits}); }
  /// Replaces the members 64 * index + i with bit i of `mask` by those of `bits`; keeps the others.
  void assignWord(std::uint32_t index, std::uint64_t mask, std::uint64_t bits) {
    const auto at = std::lower_bound(chunks_.begin(), chunks_.end(), index,
                                     [](const Chunk& chunk, std::uint32_t i) { return chunk.index < i; });
    if (at != chunks_.end() && at->index == index)
      at->bits = (at->bits & ~mask) | (bits & mask);
    else if (bits & mask)
      chunks_.insert(at, {index, bits & mask});
  }
  /// Removes the members 64 * index + i for each bit i of `mask`, and returns the bits of those that were members.
  std::uint64_t takeWord(std::uint32_t index, std::uint64_t mask) {
    const auto at = std::lower_bound(chunks_.begin(), chunks_.end(), index,
                                     [](const Chunk& chunk, std::uint32_t i) { return chunk.index < i; });
    if (at == chunks_.end() || at->index != index) return 0;
    const std::uint64_t taken = at->bits & mask;
    at->bits &= ~mask;
    return taken;
  }
  /// Adds `by` to the members from `from` on.
  void raise(std::uint32_t from, std::uint32_t by) {
    auto at = std::lower_bound(chunks_.begin(), chunks_.end(), from / 64,
                               [](const Chunk& chunk, std::uint32_t i) { return chunk.index < i; });
    std::vector<std::uint32_t> raised;
    for (; at != chunks_.end(); ++at)
      for (std::uint64_t bits = at->bits; bits; bits &= bits - 1) {
        const std::uint32_t member = at->index * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        if (member < from) continue;
        raised.push_back(member + by);
        at->bits &= ~(bits & -bits);
      }
    for (const std::uint32_t member : raised)
      assignWord(member / 64, std::uint64_t{1} << member % 64, ~std::uint64_t{0});
  }
  /// Bit i is member 64 * index + i.
  std::uint64_t word(std::uint32_t index) const {
    const Chunk* chunk = find(index);
    return chunk ? chunk->bits : 0;
  }
  bool contains(std::uint32_t value) const {
    const Chunk* chunk = find(value / 64);
    return chunk && (chunk->bits >> (value % 64) & 1);
  }
  /// Calls f(std::uint32_t) for each member in ascending order.
  template <typename F> void forEach(F&& f) const {
    for (const Chunk& chunk : chunks_)
      for (std::uint64_t bits = chunk.bits; bits; bits &= bits - 1)
        f(chunk.index * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
  }
  /// Calls f(index, bits) for each word, in ascending order: the members are 64 * index + i for each bit i.
  template <typename F> void forEachWord(F&& f) const {
    for (const Chunk& chunk : chunks_)
      f(chunk.index, chunk.bits);
  }
  std::size_t count() const {
    std::size_t n = 0;
    for (const Chunk& chunk : chunks_)
      n += static_cast<std::size_t>(std::popcount(chunk.bits));
    return n;
  }
  friend bool operator==(const SparseBits& a, const SparseBits& b) {
    // Words may be empty.
    auto at = a.chunks_.begin();
    for (const Chunk& chunk : b.chunks_) {
      if (chunk.bits == 0) continue;
      while (at != a.chunks_.end() && at->bits == 0)
        ++at;
      if (at == a.chunks_.end() || at->index != chunk.index || at->bits != chunk.bits) return false;
      ++at;
    }
    return std::all_of(at, a.chunks_.end(), [](const Chunk& chunk) { return chunk.bits == 0; });
  }

 private:
  struct Chunk {
    std::uint32_t index;
    std::uint64_t bits;
  };
  const Chunk* find(std::uint32_t index) const {
    const auto at = std::lower_bound(chunks_.begin(), chunks_.end(), index,
                                     [](const Chunk& chunk, std::uint32_t i) { return chunk.index < i; });
    return at != chunks_.end() && at->index == index ? &*at : nullptr;
  }
  std::vector<Chunk> chunks_;
};

} // namespace orias::ori

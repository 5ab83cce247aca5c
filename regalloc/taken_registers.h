#pragma once

#include "regalloc/live_ranges.h"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace orias::regalloc {

/// A set of slots of one register file. No file has more than 256.
class SlotSet {
 public:
  static constexpr unsigned kWords = 4, kMax = 64 * kWords;

  SlotSet() = default;
  /// The slots from `first` to `last`, exclusive.
  static SlotSet between(std::size_t first, std::size_t last) {
    SlotSet set;
    for (std::size_t w = first / 64; w < kWords && 64 * w < last; ++w) {
      set.words_[w] = ~std::uint64_t{0};
      if (first > 64 * w) set.words_[w] &= ~std::uint64_t{0} << (first - 64 * w);
      if (last < 64 * (w + 1)) set.words_[w] &= ~std::uint64_t{0} >> (64 * (w + 1) - last);
    }
    return set;
  }

  /// All multiples of a power of two up to 64.
  static SlotSet aligned(unsigned align) {
    SlotSet set;
    // All ones divided by 2^align - 1 has every align-th bit set.
    set.words_.fill(align == 64 ? 1 : ~std::uint64_t{0} / ((std::uint64_t{1} << align) - 1));
    return set;
  }

  bool operator[](std::size_t slot) const { return (words_[slot / 64] >> (slot & 63) & 1) != 0; }
  void set(std::size_t slot, bool isIn = true) {
    const std::uint64_t bit = std::uint64_t{1} << (slot & 63);
    words_[slot / 64] = isIn ? words_[slot / 64] | bit : words_[slot / 64] & ~bit;
  }
  bool any() const { return (words_[0] | words_[1] | words_[2] | words_[3]) != 0; }
  /// The first slot of the set from `slot` on; kMax if there is none.
  std::size_t from(std::size_t slot) const {
    if (slot >= kMax) return kMax;
    std::size_t w = slot / 64;
    for (std::uint64_t word = words_[w] & ~std::uint64_t{0} << (slot & 63);; word = words_[w]) {
      if (word != 0) return 64 * w + static_cast<std::size_t>(std::countr_zero(word));
      if (++w == kWords) return kMax;
    }
  }

  SlotSet& operator|=(const SlotSet& other) {
    for (unsigned w = 0; w < kWords; ++w)
      words_[w] |= other.words_[w];
    return *this;
  }
  SlotSet& operator&=(const SlotSet& other) {
    for (unsigned w = 0; w < kWords; ++w)
      words_[w] &= other.words_[w];
    return *this;
  }
  SlotSet operator~() const {
    SlotSet out;
    for (unsigned w = 0; w < kWords; ++w)
      out.words_[w] = ~words_[w];
    return out;
  }
  friend bool operator==(const SlotSet&, const SlotSet&) = default;
  friend SlotSet operator&(SlotSet a, const SlotSet& b) { return a &= b; }
  /// Moves each slot to the one `count` below it.
  SlotSet down(unsigned count) const {
    const unsigned whole = count / 64, rest = count % 64;
    SlotSet out;
    for (unsigned w = 0; w + whole < kWords; ++w) {
      out.words_[w] = words_[w + whole] >> rest;
      if (rest != 0 && w + whole + 1 < kWords) out.words_[w] |= words_[w + whole + 1] << (64 - rest);
    }
    return out;
  }

 private:
  friend class TakenSlots;

  std::array<std::uint64_t, kWords> words_{};
};

/// The slots that are taken at each point. The slots of a point are adjacent, so all slots taken anywhere in a range
/// are found together. Whole blocks of points that a segment covers are recorded per block only.
class TakenSlots {
 public:
  /// For slots below `slotCount`, at points below `pointCount`.
  TakenSlots(unsigned slotCount, Point pointCount);

  void occupy(const Range& range, const SlotSet& slots);
  void occupy(const Range& range, unsigned slot);
  void occupyEverywhere(const SlotSet& slots);
  /// For a range that was occupied in the same form; nothing else has taken the slot at these points.
  void release(const Range& range, unsigned slot);
  /// Adds the slots that are taken somewhere in the range.
  void addTaken(const Range& range, SlotSet& slots) const;

 private:
  static constexpr Point kBlock = 16; ///< points

  /// Calls ofPoints(first, last) for points at the ends of a segment that are not whole blocks, and ofBlocks(first,
  /// last) for the blocks between.
  template <typename OfPoints, typename OfBlocks>
  static void divide(Segment s, OfPoints&& ofPoints, OfBlocks&& ofBlocks) {
    const Point first = (s.start + kBlock - 1) / kBlock, last = s.end / kBlock;
    if (first > last) return ofPoints(s.start, s.end);
    if (s.start != first * kBlock) ofPoints(s.start, first * kBlock);
    if (first != last) ofBlocks(first, last);
    if (last * kBlock != s.end) ofPoints(last * kBlock, s.end);
  }
  /// Takes the given slots of a word.
  void occupy(Segment s, std::size_t word, std::uint64_t bits);
  template <unsigned kStride> void addTakenOf(const Range& range, SlotSet& slots) const;

  std::size_t words_;                    ///< of each of the sets below, which are stored in sequence
  std::vector<std::uint64_t> atPoint_;   ///< by point: taken by segments that cover a part of the block
  std::vector<std::uint64_t> inAll_;     ///< by block: taken by segments that cover all of it
  std::vector<std::uint64_t> somewhere_; ///< by block: taken at one or more of its points
};

} // namespace orias::regalloc

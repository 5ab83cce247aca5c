#include "regalloc/taken_registers.h"

#include <algorithm>

namespace orias::regalloc {

TakenSlots::TakenSlots(unsigned slotCount, Point pointCount)
    : words_(std::max(1u, (slotCount + 63) / 64)), atPoint_(std::size_t{pointCount} * words_),
      inAll_((std::size_t{pointCount} + kBlock - 1) / kBlock * words_), somewhere_(inAll_.size()) {}

void TakenSlots::occupy(Segment s, std::size_t word, std::uint64_t bits) {
  divide(
      s,
      [&](Point first, Point last) {
        std::uint64_t* at = atPoint_.data() + first * words_ + word;
        for (Point p = first; p < last; ++p, at += words_)
          *at |= bits;
        somewhere_[first / kBlock * words_ + word] |= bits;
      },
      [&](Point first, Point last) {
        for (std::size_t b = first; b < last; ++b) {
          inAll_[b * words_ + word] |= bits;
          somewhere_[b * words_ + word] |= bits;
        }
      });
}

void TakenSlots::occupy(const Range& range, const SlotSet& slots) {
  for (const Segment s : range.segments())
    for (std::size_t w = 0; w < words_; ++w)
      if (slots.words_[w] != 0) occupy(s, w, slots.words_[w]);
}

void TakenSlots::occupy(const Range& range, unsigned slot) {
  for (const Segment s : range.segments())
    occupy(s, slot / 64, std::uint64_t{1} << (slot & 63));
}

void TakenSlots::occupyEverywhere(const SlotSet& slots) {
  if (atPoint_.empty()) return;
  for (std::size_t w = 0; w < words_; ++w)
    if (slots.words_[w] != 0) occupy({0, static_cast<Point>(atPoint_.size() / words_)}, w, slots.words_[w]);
}

void TakenSlots::release(const Range& range, unsigned slot) {
  const std::size_t word = slot / 64;
  const std::uint64_t bit = std::uint64_t{1} << (slot & 63);
  for (const Segment s : range.segments())
    divide(
        s,
        [&](Point first, Point last) {
          for (std::size_t p = first; p < last; ++p)
            atPoint_[p * words_ + word] &= ~bit;
          // Other points of the block may be taken by another segment.
          const std::size_t block = first / kBlock, end = std::min((block + 1) * kBlock, atPoint_.size() / words_);
          std::uint64_t left = 0;
          for (std::size_t p = block * kBlock; p < end; ++p)
            left |= atPoint_[p * words_ + word];
          if ((left & bit) == 0) somewhere_[block * words_ + word] &= ~bit;
        },
        [&](Point first, Point last) {
          for (std::size_t b = first; b < last; ++b) {
            inAll_[b * words_ + word] &= ~bit;
            somewhere_[b * words_ + word] &= ~bit;
          }
        });
}

template <unsigned kStride> void TakenSlots::addTakenOf(const Range& range, SlotSet& slots) const {
  std::array<std::uint64_t, kStride> taken{};
  const auto add = [&taken](const std::vector<std::uint64_t>& sets, Point first, Point last) {
    const std::uint64_t* set = sets.data() + std::size_t{first} * kStride;
    for (Point i = first; i < last; ++i)
      for (unsigned w = 0; w < kStride; ++w)
        taken[w] |= *set++;
  };
  for (const Segment s : range.segments())
    divide(
        s,
        [&](Point first, Point last) {
          add(atPoint_, first, last);
          add(inAll_, first / kBlock, first / kBlock + 1);
        },
        [&](Point first, Point last) { add(somewhere_, first, last); });
  for (unsigned w = 0; w < kStride; ++w)
    slots.words_[w] |= taken[w];
}

void TakenSlots::addTaken(const Range& range, SlotSet& slots) const {
  switch (words_) {
  case 1: return addTakenOf<1>(range, slots);
  case 2: return addTakenOf<2>(range, slots);
  case 3: return addTakenOf<3>(range, slots);
  default: return addTakenOf<4>(range, slots);
  }
}

} // namespace orias::regalloc

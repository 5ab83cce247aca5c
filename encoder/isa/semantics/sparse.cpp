#include "encoder/isa/semantics/sparse.h"

namespace orias::isa {

std::optional<unsigned> sparseColumn(const SparseShape& shape, const std::array<std::uint32_t, 32>& metadata,
                                     unsigned selector, unsigned lane, unsigned index) {
  const unsigned perRegister = 32 / shape.bits, r = index / perRegister, within = index % perRegister;
  const unsigned inFour = lane % 4, four = lane - inFour, half = r / 2;
  const bool isWide = shape.bits >= 16, isShort = shape.registers == 2;
  // Lanes whose metadata one product reads.
  const unsigned readers = isWide ? (isShort ? 1 : 2) : (isShort ? 2 : 4);
  if (selector >= 4 / readers) return std::nullopt;
  const unsigned first = four + selector * readers;

  unsigned code = 0, chunk = 0, part = 0; // part: the half of the chunk with this element
  if (isWide) {
    code = metadata[first + half] >> (4 * inFour + 16 * (r % 2)) & 0xf;
    chunk = inFour + 4 * half;
    part = within;
  } else {
    const unsigned second = within / (perRegister / 2);
    code = metadata[first + r] >> (8 * inFour + 4 * second) & 0xf;
    chunk = 2 * inFour + second + 8 * half;
    part = within % (perRegister / 2) / (perRegister / 4);
  }
  const unsigned low = code & 3, high = code >> 2;
  if (low == high) return std::nullopt;
  switch (shape.bits) {
  case 32: // both halves of one element, the lower one first
    if (high != low + 1 || low % 2 != 0) return std::nullopt;
    return 2 * chunk + low / 2;
  case 4: return 8 * chunk + 2 * (part == 0 ? low : high) + within % 2;
  default: return 4 * chunk + (part == 0 ? low : high);
  }
}

} // namespace orias::isa

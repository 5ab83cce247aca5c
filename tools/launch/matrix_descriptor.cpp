#include "tools/launch/matrix_descriptor.h"

#include <array>

namespace orias::launch {

namespace {

constexpr unsigned kUnitBits = 128;
/// By MatrixDescriptor::swizzle: units in a row of the pattern, and the number of address bits that it mixes.
constexpr std::array<unsigned, 4> kRowUnits{1, 8, 4, 2}, kMixedBits{0, 3, 2, 1};

} // namespace

std::uint64_t MatrixDescriptor::address(unsigned at, unsigned k, unsigned bits, bool isTransposed) const {
  const unsigned row = kRowUnits[swizzle];
  const unsigned along = (isTransposed ? at : k) * bits, unitAlong = along / kUnitBits;
  std::uint64_t unit = 0;
  if (!isTransposed)
    unit = at % 8 * row + at / 8 * stride + unitAlong * (swizzle != 0 ? 1 : leading);
  else if (swizzle == 0)
    unit = unitAlong * stride + k % 8 + k / 8 * leading;
  else
    unit = unitAlong % row + unitAlong / row * leading + k % 8 * row + k / 8 * stride;
  const std::uint64_t plain = start + unit * (kUnitBits / 8) + along % kUnitBits / 8;
  // XORs the low bits of the index of the 16 bytes with those of the index of the 128 bytes.
  const std::uint64_t mask = (1u << kMixedBits[swizzle]) - 1;
  return plain ^ (plain >> 7 & mask) << 4;
}

bool MatrixDescriptor::holds(unsigned depth, unsigned bits, bool isTransposed) const {
  return isTransposed || swizzle == 0 || depth * bits <= kRowUnits[swizzle] * kUnitBits;
}

} // namespace orias::launch

#pragma once

// Bit fields of 128-bit words.

#include "encoder/isa/isa.h"

namespace orias::isa {

constexpr std::uint64_t lowMask(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

/// Bits pos..pos+width-1; the field may cross the middle of the word.
constexpr std::uint64_t getBits(const Word& w, unsigned pos, unsigned width) {
  if (width == 0) return 0;
  if (pos >= 64) return w.hi >> (pos - 64) & lowMask(width);
  std::uint64_t value = w.lo >> pos;
  if (pos + width > 64 && pos != 0) value |= w.hi << (64 - pos);
  return value & lowMask(width);
}

constexpr void setBits(Word& w, unsigned pos, unsigned width, std::uint64_t value) {
  if (width == 0) return;
  const std::uint64_t mask = lowMask(width);
  value &= mask;
  if (pos >= 64) {
    w.hi = (w.hi & ~(mask << (pos - 64))) | value << (pos - 64);
    return;
  }
  w.lo = (w.lo & ~(mask << pos)) | value << pos;
  if (pos + width > 64 && pos != 0) w.hi = (w.hi & ~(mask >> (64 - pos))) | value >> (64 - pos);
}

constexpr std::int64_t signExtend(std::uint64_t value, unsigned width) {
  if (width == 0 || width >= 64) return static_cast<std::int64_t>(value);
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  return static_cast<std::int64_t>((value ^ sign) - sign);
}

} // namespace orias::isa

#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace orias {

/// The next multiple of `alignment`; 0 and 1 change nothing.
template <std::unsigned_integral T> constexpr T alignUp(T value, std::type_identity_t<T> alignment) {
  return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

/// Assigns consecutive aligned offsets, in bytes.
struct Packing {
  std::uint64_t end = 0, alignment = 1;

  std::uint64_t place(std::uint64_t size, std::uint64_t align) {
    const std::uint64_t at = alignUp(end, align);
    end = at + size;
    alignment = std::max(alignment, align);
    return at;
  }
  /// Aligns the end to the largest alignment so far.
  void close() { end = alignUp(end, alignment); }
};

} // namespace orias

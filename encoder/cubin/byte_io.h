#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Little-endian numbers in byte buffers; cubins are little-endian on any host.
namespace orias::cubin {

/// The caller must check that `offset + sizeof(T)` is within `bytes`.
template <std::unsigned_integral T> T load(std::span<const std::byte> bytes, std::size_t offset) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | (static_cast<T>(static_cast<std::uint8_t>(bytes[offset + i])) << (8 * i)));
  return value;
}

template <std::unsigned_integral T> void store(std::span<std::byte> bytes, std::size_t offset, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes[offset + i] = static_cast<std::byte>(value >> (8 * i));
}

template <std::unsigned_integral T> void append(std::vector<std::byte>& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// An unsigned number in LEB128 (DWARF 3, section 7.6).
inline void appendUleb(std::vector<std::byte>& bytes, std::uint64_t value) {
  do {
    const auto low = static_cast<std::uint8_t>(value & 0x7f);
    value >>= 7;
    append(bytes, static_cast<std::uint8_t>(value ? low | 0x80 : low));
  } while (value);
}

} // namespace orias::cubin

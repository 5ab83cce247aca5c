#pragma once

#include "tools/interpreter/machine.h"

#include <span>

namespace orias::interp {

/// The space of a generic address, and the address in that space.
struct Location {
  Space space;
  std::uint64_t address;
};
Location locate(Space space, std::uint64_t address);

/// Copies from and to memory. The size is a power of two and the address must be a multiple of it. A fault stops the
/// run. Reads of uninitialized bytes are reported (memcheck).
void load(Thread& thread, Space space, std::uint64_t address, std::span<std::byte> out);
void store(Thread& thread, Space space, std::uint64_t address, std::span<const std::byte> in);

template <typename T> T loadAs(Thread& thread, Space space, std::uint64_t address) {
  T value;
  load(thread, space, address, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}
template <typename T> void storeAs(Thread& thread, Space space, std::uint64_t address, T value) {
  store(thread, space, address, std::as_bytes(std::span(&value, 1)));
}

} // namespace orias::interp

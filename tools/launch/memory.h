#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::launch {

/// A named range of memory: a buffer of the launch, a module variable, a thread's stack.
struct Allocation {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0; ///< bytes
  /// The addresses in the initial value. Another engine has other addresses.
  struct Address {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Address> addresses = {};
};

/// Why an access failed.
enum class Fault : std::uint8_t {
  None,
  OutOfBounds,   ///< not inside one allocation
  Misaligned,    ///< not a multiple of its size
  Uninitialised, ///< reads bytes that were never written; only with tracking
};

/// Byte-addressed memory made of allocations with unmapped gaps between them, so that a wrong address faults instead of
/// reading a neighbor. Used for global memory by the PTX interpreter and the emulator. Little-endian.
class Memory {
 public:
  /// `trackInitialised`: record which bytes were written (memcheck).
  explicit Memory(std::uint64_t base, bool trackInitialised = false);

  /// A new allocation of zero bytes; uninitialized when tracking. `alignment` is a power of two.
  std::uint64_t allocate(std::string name, std::uint64_t size, std::uint64_t alignment = 256);
  const std::vector<Allocation>& allocations() const { return allocations_; }
  /// By name; null when there is none.
  const Allocation* find(std::string_view name) const;
  /// The allocation that contains an address, or the nearest one below it (for messages); null if there is none below.
  const Allocation* nearest(std::uint64_t address) const;

  /// The bytes of [address, address + size), or null if they are not inside one allocation. Makes no other checks.
  std::byte* at(std::uint64_t address, std::uint64_t size);
  /// Copies `out.size()` bytes from memory: a power of two, at an address that is a multiple of it.
  Fault read(std::uint64_t address, std::span<std::byte> out);
  Fault write(std::uint64_t address, std::span<const std::byte> in);
  /// Marks bytes as initialized without writing them.
  void initialise(std::uint64_t address, std::uint64_t size);
  /// Records that these bytes hold an address of the initial value.
  void noteAddress(std::uint64_t address, std::uint64_t size);

 private:
  struct Block {
    std::vector<std::byte> bytes;
    std::vector<bool> written; ///< empty without tracking
  };
  std::size_t indexOf(std::uint64_t address, std::uint64_t size) const;

  std::uint64_t next_;
  bool track_;
  std::vector<Allocation> allocations_; ///< by ascending address
  std::vector<Block> blocks_;           ///< the same order
  mutable std::size_t lastHit_ = 0;
};

} // namespace orias::launch

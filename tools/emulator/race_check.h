#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orias::emu {

/// Watches shared memory: two warps touch a byte, at least one of them writes it (not both by atomics), and no barrier
/// of the CTA has completed in between. Any barrier counts, whoever takes part in it, so a race around a barrier of
/// some warps only is missed. Lanes of one warp conflict only where one instruction writes different values to one
/// place: what orders the instructions of a warp cannot be seen in machine code, where redundant WARPSYNCs are gone.
class RaceCheck {
 public:
  /// For a CTA with `bytes` of shared memory.
  void start(std::size_t bytes) {
    bytes_.assign(bytes, Byte{});
    epoch_ = 1;
  }
  /// A barrier is over.
  void barrier() { ++epoch_; }

  struct Access {
    std::size_t offset = 0; ///< of the first byte
    std::size_t size = 0;
    std::uint16_t warp = 0;
    bool isWrite = false;
    bool isAtomic = false;
    std::uint64_t instruction = 0;   ///< counts executed instructions: the same for all lanes of one
    const std::byte* data = nullptr; ///< what is written
  };
  struct Conflict {
    bool found = false;
    bool withWrite = false; ///< the other access was a write
    std::uint16_t warp = 0; ///< of the other access
    std::size_t offset = 0; ///< of the byte
  };
  /// Notes an access; the first conflict that it makes.
  Conflict note(const Access& access);

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  struct Byte {
    std::uint32_t writeEpoch = 0, readEpoch = 0;
    std::uint16_t writer = kNone;
    std::uint16_t readers[2] = {kNone, kNone}; ///< two warps are enough to tell whether another one read
    bool isAtomicWrite = false;
    std::byte value{};
    std::uint64_t instruction = 0;
  };
  std::vector<Byte> bytes_;
  std::uint32_t epoch_ = 1;
};

} // namespace orias::emu

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

namespace orias::interp {

/// Watches what different blocks do to global memory: two of them touch a byte, at least one writes it, not both by
/// strong operations, and the later one has neither fenced nor acquired anything since. (One that has may have seen
/// that the other was done; whether it did is not looked into. So a race can hide, and none is invented.) Two blocks
/// that write the same value are no race.
class BlockRaces {
 public:
  struct Conflict {
    std::uint64_t block = 0; ///< of the other access
    bool withWrite = false;  ///< the other access was a write
    std::uint64_t address = 0;
  };
  /// The first conflict that an access makes. `data`: what is written, empty for a read.
  std::optional<Conflict> note(std::uint64_t block, std::uint64_t address, std::size_t size,
                               std::span<const std::byte> data, bool isStrong);
  /// A fence or an acquiring operation of a thread of the block.
  void fence(std::uint64_t block) { fences_[block] = now_++; }

 private:
  struct Stamp {
    std::uint64_t block = 0;
    std::uint64_t time = 0; ///< 0: there was no such access
    bool isStrong = false;
  };
  struct Byte {
    Stamp write;
    std::array<Stamp, 2> reads; ///< the last one, and the last one of another block
    std::byte value{};
  };
  std::unordered_map<std::uint64_t, Byte> bytes_;
  std::unordered_map<std::uint64_t, std::uint64_t> fences_; ///< by block: the time of its last one
  std::uint64_t now_ = 1;
};

} // namespace orias::interp

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

namespace orias::interp {

/// Detects races between blocks in global memory: two blocks access a byte, at least one writes it, not both by strong
/// operations, and the later one has neither fenced nor acquired since the earlier access. (A block that has may have
/// synchronized; this is not verified. So a race can be missed, but no false race is reported.) Two blocks that write
/// the same value are not a race.
class BlockRaces {
 public:
  struct Conflict {
    std::uint64_t block = 0; ///< of the other access
    bool withWrite = false;  ///< the other access was a write
    std::uint64_t address = 0;
  };
  /// Returns the first conflict that an access causes. `data`: the written bytes, empty for a read.
  std::optional<Conflict> note(std::uint64_t block, std::uint64_t address, std::size_t size,
                               std::span<const std::byte> data, bool isStrong);
  /// A fence or an acquiring operation of a thread of the block.
  void fence(std::uint64_t block) { fences_[block] = now_++; }

 private:
  struct Stamp {
    std::uint64_t block = 0;
    std::uint64_t time = 0; ///< 0: no access
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

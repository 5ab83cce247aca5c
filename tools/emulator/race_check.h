#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace orias::emu {

/// Watches the shared memory of a cluster: two warps touch a byte, at least one of them writes it (not both by
/// atomics), and nothing orders the two. What orders warps are barriers of the CTA and the cluster, for those that take
/// part (who only arrives is not ordered behind the others), and barriers in memory (SYNCS). Kept with vector clocks,
/// warp by warp, so that flags which programs make of plain words are not seen to order anything. A load whose value a
/// compare-and-swap behind it compares with counts as part of that. Lanes of one warp conflict only where one
/// instruction writes different values to one place: what orders the instructions of a warp cannot be seen in machine
/// code, where redundant WARPSYNCs are gone. Two readers of a byte are remembered. (The interpreter's check sees lanes
/// and global memory, too: tools/interpreter/races.h.)
class RaceCheck {
 public:
  /// For a cluster of CTAs that have `bytes` of shared memory and so many warps each. Warps are numbered through.
  void start(std::size_t bytes, unsigned ctas, unsigned warpsOfEach);

  /// A warp has come to a barrier of its CTA, or of the cluster; once all have, those that wait leave it.
  static constexpr unsigned kCluster = 16;
  void arrive(unsigned warp, unsigned barrier);
  void leave(unsigned warp, unsigned barrier) { join(clocks_[warp], barrierOf(warp / warpsOfEach_, barrier)); }
  void reset(unsigned cta, unsigned barrier) { barrierOf(cta, barrier).clear(); }
  /// A warp works on the barrier at this address of the cluster's shared memory: it sees what others did before they
  /// did so.
  void synchronise(unsigned warp, std::uint64_t address);

  struct Access {
    unsigned cta = 0;       ///< whose shared memory it is
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
  using Clock = std::vector<std::uint32_t>; ///< by warp; empty: all 0
  /// When a warp did something; its clock counts from 1.
  struct Stamp {
    std::uint16_t warp = 0;
    std::uint32_t clock = 0; ///< 0: nobody did it
  };
  struct Byte {
    Stamp write;
    std::array<Stamp, 2> reads;
    bool isAtomicWrite = false;
    std::byte value{};
    std::uint64_t instruction = 0;
  };

  static void join(Clock& to, const Clock& from);
  bool isOrdered(const Stamp& before, unsigned warp) const {
    return before.warp == warp || before.clock <= clocks_[warp][before.warp];
  }

  Clock& barrierOf(unsigned cta, unsigned barrier) {
    return barriers_[barrier == kCluster ? barriers_.size() - 1 : std::size_t{cta} * kCluster + barrier];
  }

  unsigned warpsOfEach_ = 1;
  std::vector<std::vector<Byte>> bytes_;            ///< by CTA
  std::vector<Clock> clocks_;                       ///< by warp
  std::vector<Clock> barriers_;                     ///< of the CTAs, and behind them that of the cluster
  std::unordered_map<std::uint64_t, Clock> places_; ///< of barriers in memory
};

} // namespace orias::emu

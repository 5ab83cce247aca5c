#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace orias::emu {

/// Detects races in the shared memory of a cluster: two warps access a byte, at least one of them writes it (not both
/// by atomics), and nothing orders the two. Warps are ordered by barriers of the CTA and the cluster, for those that
/// wait (a warp that only arrives is not ordered after the others), and by barriers in memory (SYNCS). The check uses
/// vector clocks of warps, so it does not see ordering by flags in plain words. A load whose value a later
/// compare-and-swap compares with counts as part of that. Lanes of one warp conflict only if one instruction writes
/// different values to one location: machine code does not show what orders the instructions of a warp, because
/// redundant WARPSYNCs are deleted. Two readers of a byte are remembered. (The interpreter's check also covers lanes
/// and global memory: tools/interpreter/races.h.)
class RaceCheck {
 public:
  /// Starts a cluster of `ctas` CTAs with `bytes` of shared memory and `warpsOfEach` warps each. Warps are numbered
  /// across the cluster.
  void start(std::size_t bytes, unsigned ctas, unsigned warpsOfEach);

  /// A warp has arrived at a barrier of its CTA, or of the cluster. Once all have arrived, those that wait leave it.
  static constexpr unsigned kCluster = 16;
  void arrive(unsigned warp, unsigned barrier);
  void leave(unsigned warp, unsigned barrier) { join(clocks_[warp], barrierOf(warp / warpsOfEach_, barrier)); }
  void reset(unsigned cta, unsigned barrier) { barrierOf(cta, barrier).clear(); }
  /// A warp operates on the barrier at this address of the cluster's shared memory: it is ordered after the actions of
  /// others before their operations on it.
  void synchronise(unsigned warp, std::uint64_t address);

  struct Access {
    unsigned cta = 0;       ///< owner of the shared memory
    std::size_t offset = 0; ///< of the first byte
    std::size_t size = 0;
    std::uint16_t warp = 0;
    bool isWrite = false;
    bool isAtomic = false;
    std::uint64_t instruction = 0;   ///< counts executed instructions; the same for all lanes of one
    const std::byte* data = nullptr; ///< written data
  };
  struct Conflict {
    bool found = false;
    bool withWrite = false; ///< the other access was a write
    std::uint16_t warp = 0; ///< of the other access
    std::size_t offset = 0; ///< of the byte
  };
  /// Records an access. Returns the first conflict that it causes.
  Conflict note(const Access& access);

 private:
  using Clock = std::vector<std::uint32_t>; ///< by warp; empty: all 0
  /// The time of a warp's access; its clock starts at 1.
  struct Stamp {
    std::uint16_t warp = 0;
    std::uint32_t clock = 0; ///< 0: no access
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
  std::vector<Clock> barriers_;                     ///< of the CTAs, followed by that of the cluster
  std::unordered_map<std::uint64_t, Clock> places_; ///< of barriers in memory
};

} // namespace orias::emu

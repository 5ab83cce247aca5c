#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace orias::interp {

/// Detects races of the threads of one cluster in shared and global memory: two threads access a byte, at least one
/// writes it, not both by strong operations (atomic, volatile, relaxed, ...), and nothing orders them. Order follows
/// the PTX manual: barriers of the block for the participating warps, that of the cluster, bar.warp.sync (and nothing
/// else) between lanes of a warp, mbarrier, and a release observed by an acquire, also with fences. (Different
/// clusters: block_races.h.)
///
/// Threads are numbered across the blocks of the cluster; each block begins at a multiple of the warp size. Addresses
/// of shared memory have the block's rank from bit 24 on. Another block's memory is accessible from the time at which a
/// thread knows that the block has started (barrier.cluster.wait, or any order after a thread of it) until that block's
/// last thread exits.
///
/// Order is tracked with vector clocks of warps: a thread that waits for another orders its whole warp. Three readers
/// of a byte are remembered. Both can hide a race, but neither causes a false report. Two lanes that write the same
/// value are not a race.
class Races {
 public:
  enum class Memory : std::uint8_t { Shared, Global };
  /// The strength of an access in the memory model.
  struct Strength {
    bool isStrong = false;
    bool acquires = false, releases = false;
  };
  struct Conflict {
    std::uint32_t thread = 0; ///< of the other access
    bool withWrite = false;   ///< the other access was a write
    std::uint64_t offset = 0; ///< of the byte: its address in that memory
  };

  Races(std::size_t blocks, std::size_t warpsOfEach, std::size_t sharedBytes);

  /// Records a successful access. Returns the first conflict that it causes. `data`: the written bytes, empty for a
  /// read.
  std::optional<Conflict> note(std::uint32_t thread, Memory memory, std::uint64_t offset, std::size_t size,
                               std::span<const std::byte> data, Strength strength);
  /// A strong access to any memory, at its generic address. Such accesses order threads.
  void strongRead(std::uint32_t thread, std::uint64_t address, Strength strength);
  void strongWrite(std::uint32_t thread, std::uint64_t address, Strength strength);
  void fence(std::uint32_t thread);

  /// A warp arrives at a barrier of its block. Once all have arrived, those that wait leave it.
  void arrive(std::uint32_t warp, std::size_t barrier);
  void leave(std::uint32_t warp, std::size_t barrier);
  void reset(std::size_t block, std::size_t barrier);
  /// bar.warp.sync.
  void warpSync(std::uint32_t warp) { ++phase_[warp]; }

  /// The cluster's barrier: a thread arrives; all have arrived; a thread has waited. A relaxed arrival releases only
  /// what fences have.
  void clusterArrive(std::uint32_t thread, bool releases);
  void clusterComplete();
  void clusterWait(std::uint32_t thread);
  /// An access to the shared memory of another block. Returns whether the thread can know that the block has started.
  bool noteRemote(std::uint32_t thread, std::uint32_t block);
  /// Called when the last thread of a block exits. Returns a warp whose accesses to the block's memory may not be
  /// complete.
  std::optional<std::uint32_t> stillReaching(std::uint32_t block) const;

 private:
  static constexpr std::size_t kBarriers = 16; ///< of a block
  using Clock = std::vector<std::uint32_t>;    ///< by warp; empty: all 0

  struct Stamp {
    std::uint16_t thread = 0xffff;
    bool isStrong = false;
    std::uint32_t clock = 0; ///< of its warp
    std::uint32_t phase = 0; ///< of its warp: lanes are ordered if it has changed
    bool exists() const { return thread != 0xffff; }
  };
  struct Byte {
    Stamp write;
    std::array<Stamp, 3> reads; ///< the last one; one of another warp; one of another lane
    std::byte value{};
  };

  static void join(Clock& to, const Clock& from);
  bool isOrdered(const Stamp& before, std::uint32_t thread) const;
  void acquire(std::uint32_t warp, const Clock& from);

  std::vector<Clock> clocks_;   ///< by warp
  std::vector<Clock> fenced_;   ///< by warp: as they were at its last fence
  std::vector<Clock> observed_; ///< by warp: what relaxed reads have observed, and the next fence acquires
  std::vector<std::uint32_t> phase_;
  std::size_t warpsOfEach_;
  std::vector<Clock> barriers_; ///< by block and number

  // The cluster's barrier: what the arrivals of this phase have released, and those of the last completed phase; the
  // clock of each warp at its arrival, regardless of what it released.
  Clock arriving_, arrived_, reached_, reachedBefore_;
  std::vector<bool> knowsAll_;  ///< by warp: knows that all blocks have started
  std::vector<Clock> reaching_; ///< by block: each warp's last access to its memory that may not be complete

  std::unordered_map<std::uint64_t, Clock> places_; ///< by address: what strong writes have released
  std::vector<std::vector<Byte>> shared_;           ///< by block
  std::unordered_map<std::uint64_t, Byte> global_;
};

} // namespace orias::interp

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace orias::interp {

/// Watches what the threads of one cluster do to shared and global memory: two threads touch a byte, at least one
/// writes it, not both by strong operations (atomic, volatile, relaxed, ...), and nothing orders them. What orders is
/// what the PTX manual says: barriers of the block for the warps that take part, that of the cluster, bar.warp.sync
/// (and nothing else) between lanes of a warp, mbarrier, and a release that an acquire has seen, be it by fences.
/// (Different clusters: block_races.h.)
///
/// Threads are numbered through the blocks of the cluster, each of which begins with a whole warp. Addresses of shared
/// memory have the block's rank from bit 24 on. Another block's memory is there from the time at which a thread knows
/// that the block has started (barrier.cluster.wait, or anything that orders it behind a thread of it) and until that
/// block's last thread exits.
///
/// Order is kept warp by warp with vector clocks: a thread that waits for another orders its whole warp. Of the readers
/// of a byte three are remembered. Both can hide a race, neither can invent one. Two lanes that write the same value
/// are no race.
class Races {
 public:
  enum class Memory : std::uint8_t { Shared, Global };
  /// What the memory model knows of an access.
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

  /// An access that went well; the first conflict that it makes. `data`: what is written, empty for a read.
  std::optional<Conflict> note(std::uint32_t thread, Memory memory, std::uint64_t offset, std::size_t size,
                               std::span<const std::byte> data, Strength strength);
  /// A strong access to any memory, at its generic address: what orders threads.
  void strongRead(std::uint32_t thread, std::uint64_t address, Strength strength);
  void strongWrite(std::uint32_t thread, std::uint64_t address, Strength strength);
  void fence(std::uint32_t thread);

  /// A warp has come to a barrier of its block; once all have, those that wait leave it.
  void arrive(std::uint32_t warp, std::size_t barrier);
  void leave(std::uint32_t warp, std::size_t barrier);
  void reset(std::size_t block, std::size_t barrier);
  /// bar.warp.sync.
  void warpSync(std::uint32_t warp) { ++phase_[warp]; }

  /// A thread has come to the cluster's barrier; all have; it has waited. A relaxed arrival releases only what fences
  /// have.
  void clusterArrive(std::uint32_t thread, bool releases);
  void clusterComplete();
  void clusterWait(std::uint32_t thread);
  /// An access to the shared memory of another block: may the thread know that the block has started?
  bool noteRemote(std::uint32_t thread, std::uint32_t block);
  /// The last thread of a block exits: a warp of which nobody knows that it is done with the block's memory.
  std::optional<std::uint32_t> stillReaching(std::uint32_t block) const;

 private:
  static constexpr std::size_t kBarriers = 16; ///< of a block
  using Clock = std::vector<std::uint32_t>;    ///< by warp; empty: all 0

  struct Stamp {
    std::uint16_t thread = 0xffff;
    bool isStrong = false;
    std::uint32_t clock = 0; ///< of its warp
    std::uint32_t phase = 0; ///< of its warp: lanes are in order when it has changed
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
  std::vector<Clock> observed_; ///< by warp: what relaxed reads have seen, and the next fence acquires
  std::vector<std::uint32_t> phase_;
  std::size_t warpsOfEach_;
  std::vector<Clock> barriers_; ///< by block and number

  // The cluster's barrier: what this phase's arrivals have released, and the last complete one's; how far each warp was
  // when it arrived, whatever that released.
  Clock arriving_, arrived_, reached_, reachedBefore_;
  std::vector<bool> knowsAll_;  ///< by warp: that all blocks have started
  std::vector<Clock> reaching_; ///< by block: each warp's last access to its memory that it cannot know to be done

  std::unordered_map<std::uint64_t, Clock> places_; ///< by address: what strong writes have released
  std::vector<std::vector<Byte>> shared_;           ///< by block
  std::unordered_map<std::uint64_t, Byte> global_;
};

} // namespace orias::interp

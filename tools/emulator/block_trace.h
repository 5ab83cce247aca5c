#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace orias::emu {

/// What the warps of one block issued, in order, and what each access asked of the memory unit. Written once, and run
/// in time as often as somebody wants (full_machine.h); contents of registers and memory are not in it.
struct BlockTrace {
  static constexpr std::uint32_t kMeeting = std::numeric_limits<std::uint32_t>::max();

  struct Step {
    std::uint32_t at = 0;        ///< the instruction, or kMeeting: the warp waits for others
    std::uint32_t meeting = 0;   ///< which one: an index into `meetings`
    std::uint16_t service = 1;   ///< cycles of the memory unit; 0 where no lane makes the access
    std::uint16_t conflicts = 0; ///< of these, those that the result is late by
  };
  std::vector<std::vector<Step>> warps;
  std::vector<std::uint32_t> meetings; ///< how many warps go on together

  std::size_t steps() const {
    std::size_t count = 0;
    for (const auto& warp : warps)
      count += warp.size();
    return count;
  }
};

/// Writes the traces of the first blocks of a launch, whole clusters, until it has enough of them.
class TraceRecorder {
 public:
  /// Warps are numbered through the blocks of a cluster.
  void startCluster(unsigned blocks, unsigned warpsOfEach);
  void issue(unsigned warp, std::uint32_t at);
  /// The last instruction of the warp keeps the memory unit for so many cycles; none where no lane made the access.
  void access(unsigned warp, std::uint64_t service, std::uint64_t conflicts);
  /// These warps go on behind a barrier. The blocks of a cluster run on multiprocessors of their own, alike: each waits
  /// for its own warps.
  void meet(std::span<const unsigned> warps);

  const std::vector<BlockTrace>& blocks() const { return blocks_; }

 private:
  static constexpr std::size_t kMaxBlocks = 64, kMaxSteps = std::size_t{1} << 22;

  std::vector<BlockTrace::Step>& stepsOf(unsigned warp) {
    return blocks_[first_ + warp / warpsOfEach_].warps[warp % warpsOfEach_];
  }

  std::vector<BlockTrace> blocks_;
  std::size_t first_ = 0; ///< block of the cluster that runs
  std::size_t steps_ = 0;
  unsigned warpsOfEach_ = 1;
  bool isFull_ = false;
};

} // namespace orias::emu

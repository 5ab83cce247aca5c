#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace orias::emu {

/// The instructions that the warps of one block issued, in order, and the cost of each access in the memory unit.
/// Recorded once, and replayed by the timing model any number of times (full_machine.h). Contents of registers and
/// memory are not recorded.
struct BlockTrace {
  static constexpr std::uint32_t kMeeting = std::numeric_limits<std::uint32_t>::max();

  struct Step {
    std::uint32_t at = 0;        ///< the instruction, or kMeeting: the warp waits for others
    std::uint32_t meeting = 0;   ///< of kMeeting: index into `meetings`
    std::uint16_t service = 1;   ///< cycles of the memory unit; 0 if no lane makes the access
    std::uint16_t conflicts = 0; ///< the part of these that delays the result
  };
  std::vector<std::vector<Step>> warps;
  std::vector<std::uint32_t> meetings; ///< number of warps that leave the barrier together

  std::size_t steps() const {
    std::size_t count = 0;
    for (const auto& warp : warps)
      count += warp.size();
    return count;
  }
};

/// Records the traces of the first blocks of a launch, in whole clusters, until there are enough.
class TraceRecorder {
 public:
  /// Warps are numbered across the blocks of a cluster.
  void startCluster(unsigned blocks, unsigned warpsOfEach);
  void issue(unsigned warp, std::uint32_t at);
  /// The last instruction of the warp occupies the memory unit for `service` cycles; 0 if no lane made the access.
  void access(unsigned warp, std::uint64_t service, std::uint64_t conflicts);
  /// These warps leave a barrier together. The blocks of a cluster run on different multiprocessors in the same way:
  /// each waits for its own warps.
  void meet(std::span<const unsigned> warps);

  const std::vector<BlockTrace>& blocks() const { return blocks_; }

 private:
  static constexpr std::size_t kMaxBlocks = 64, kMaxSteps = std::size_t{1} << 22;

  std::vector<BlockTrace::Step>& stepsOf(unsigned warp) {
    return blocks_[first_ + warp / warpsOfEach_].warps[warp % warpsOfEach_];
  }

  std::vector<BlockTrace> blocks_;
  std::size_t first_ = 0; ///< the running block of the cluster
  std::size_t steps_ = 0;
  unsigned warpsOfEach_ = 1;
  bool isFull_ = false;
};

} // namespace orias::emu

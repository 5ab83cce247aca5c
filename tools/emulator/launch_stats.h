#pragma once

#include "encoder/isa/isa.h"
#include "tools/emulator/address_space.h"
#include "tools/emulator/block_trace.h"
#include "tools/emulator/operation.h"
#include "tools/emulator/warp_clock.h"
#include "tools/launch/launch.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace orias::emu {

/// Counts for --stats, and estimates of the duration of a launch: as it is, and, with `fullMachine`, on a
/// multiprocessor filled with its blocks. README.md describes the methods and their omissions. The estimates are our
/// own and come without guarantee.
class LaunchStats {
 public:
  LaunchStats(const Program& program, const Code& code, const launch::RunOptions& options);

  /// Warps are numbered across the CTAs of a cluster.
  void startCluster(unsigned ctas, unsigned warpsOfEach);
  /// A warp issues an instruction on the path `mask`; it is enabled for `lanes`.
  void issue(unsigned warp, std::uint32_t at, std::uint32_t live, std::uint32_t mask, std::uint32_t lanes);
  /// A memory instruction: the bytes at `addresses` (of active lanes; the others are lane numbers not in `lanes`).
  void access(unsigned warp, Space space, unsigned size, std::uint32_t lanes,
              const std::array<std::uint64_t, 32>& addresses);
  /// Counts a branch that makes a warp diverge.
  void divide() { ++divided_; }
  /// These warps leave a barrier together.
  void meet(std::span<const unsigned> warps);
  void endCluster();

  /// Names and values, in display order.
  std::vector<std::pair<std::string, double>> report(const launch::Launch& launch) const;
  /// By instruction; empty for Ori or without RunOptions::profile.
  const std::vector<launch::InstructionProfile>& profile() const { return profile_; }

 private:
  struct Scheduler {
    std::uint64_t issued = 0;
    std::array<std::uint64_t, kPipes> busy{};
  };
  struct Traffic {
    std::uint64_t requests = 0, parts = 0, ideal = 0; ///< parts: wavefronts of shared memory, sectors of global memory
  };

  void advance(WarpClock& clock, Scheduler& scheduler, const IssueCost& cost, launch::InstructionProfile* profile);
  isa::Occupancy occupancy(const launch::Launch& launch) const;
  double estimatedCycles(const launch::Launch& launch) const;

  const Program& program_;
  const Code& code_;
  Scheduler& schedulerOf(unsigned warp) { return schedulers_[warp / warpsOfEach_][warp % warpsOfEach_ % kSchedulers]; }

  std::vector<IssueCost> costs_; ///< by instruction; empty for Ori
  std::optional<TraceRecorder> traces_;
  std::vector<launch::InstructionProfile> profile_;
  std::vector<std::uint32_t> last_; ///< by warp: its last issued instruction
  unsigned warpsOfEach_ = 1;
  std::vector<WarpClock> clocks_;                              ///< by warp
  std::vector<std::array<Scheduler, kSchedulers>> schedulers_; ///< by CTA

  std::array<std::uint64_t, kPipes> issued_{};
  std::uint64_t instructions_ = 0, lanes_ = 0, dividedIssues_ = 0, idleIssues_ = 0, divided_ = 0;
  std::uint64_t fixedStalls_ = 0, scoreboardStalls_ = 0, barrierStalls_ = 0;
  Traffic shared_, global_, local_;
  std::uint64_t ctas_ = 0, latency_ = 0, busy_ = 0; ///< sums over CTAs, in cycles
};

} // namespace orias::emu

#pragma once

#include "encoder/isa/isa.h"
#include "tools/emulator/address_space.h"
#include "tools/emulator/operation.h"
#include "tools/launch/launch.h"

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace orias::emu {

/// Counts for --stats, and an estimate of the time that a launch takes. README.md says how the estimate is made and
/// what it leaves out; it is ours, and no promise.
class Figures {
 public:
  Figures(const Program& program, const Code& code) : program_(program), code_(code) {}

  /// Warps are numbered through the CTAs of a cluster.
  void startCluster(unsigned ctas, unsigned warpsOfEach);
  /// A warp issues an instruction: for the lanes of the path `mask`, of which `lanes` have it enabled.
  void issue(unsigned warp, std::uint32_t at, std::uint32_t live, std::uint32_t mask, std::uint32_t lanes);
  /// A memory instruction: the bytes at `addresses` (of active lanes; the others are lane numbers not in `lanes`).
  void access(unsigned warp, Space space, unsigned size, std::uint32_t lanes,
              const std::array<std::uint64_t, 32>& addresses);
  /// A branch that sends the lanes of a warp to different places.
  void divide() { ++divided_; }
  /// These warps go on behind a barrier.
  void meet(std::span<const unsigned> warps);
  void endCluster();

  /// Names and figures, in the order in which they are to be shown.
  std::vector<std::pair<std::string, double>> report(const launch::Launch& launch) const;

 private:
  static constexpr std::size_t kPipes = static_cast<std::size_t>(isa::Pipe::Adu) + 1;
  static constexpr unsigned kSchedulers = 4, kScoreboards = 6;

  struct Clock {
    std::uint64_t now = 0;
    std::array<std::uint64_t, kScoreboards> ready{};
    std::uint8_t scoreboard = 0xff; ///< that the last memory instruction took for its result
  };
  struct Scheduler {
    std::uint64_t issued = 0;
    std::array<std::uint64_t, kPipes> busy{};
  };
  struct Traffic {
    std::uint64_t requests = 0, parts = 0, ideal = 0; ///< parts: wavefronts of shared memory, sectors of global memory
  };

  void advance(Clock& clock, Scheduler& scheduler, std::uint32_t at);
  double estimatedCycles(const launch::Launch& launch) const;

  const Program& program_;
  const Code& code_;
  Scheduler& schedulerOf(unsigned warp) { return schedulers_[warp / warpsOfEach_][warp % warpsOfEach_ % kSchedulers]; }

  unsigned warpsOfEach_ = 1;
  std::vector<Clock> clocks_;                                  ///< by warp
  std::vector<std::array<Scheduler, kSchedulers>> schedulers_; ///< by CTA

  std::array<std::uint64_t, kPipes> issued_{};
  std::uint64_t instructions_ = 0, lanes_ = 0, dividedIssues_ = 0, idleIssues_ = 0, divided_ = 0;
  std::uint64_t fixedStalls_ = 0, scoreboardStalls_ = 0, barrierStalls_ = 0;
  Traffic shared_, global_, local_;
  std::uint64_t ctas_ = 0, latency_ = 0, busy_ = 0; ///< sums over CTAs, in cycles
};

} // namespace orias::emu

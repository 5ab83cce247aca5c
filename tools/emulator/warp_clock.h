#pragma once

#include "tools/emulator/issue_cost.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace orias::emu {

/// The time of one warp in the estimates: when it may issue its next instruction, and when the results that it waits
/// for are available.
class WarpClock {
 public:
  std::uint64_t now() const { return now_; }
  /// The earliest cycle in which the warp can issue this instruction: its last stall count has elapsed, and the
  /// scoreboards, copies and products that it waits for have completed.
  std::uint64_t readyAt(const IssueCost& cost) const;
  /// The instruction is issued at `start`. Its unit starts it at `begin`, and needs `extra` cycles more than usual.
  void issue(const IssueCost& cost, std::uint64_t start, std::uint64_t begin, std::uint64_t extra);
  /// Delays the result of the last instruction.
  void delayResult(std::uint64_t cycles);
  /// The warp leaves a barrier, not before `time`.
  void waitUntil(std::uint64_t time) { now_ = std::max(now_, time); }

 private:
  static constexpr unsigned kScoreboards = 6, kProducts = kScoreboards, kQueues = kScoreboards + 1, kKept = 8;

  /// Completion times of the results of a scoreboard, or of the groups of products: of all of them, and of all but the
  /// newest.
  struct Queue {
    std::uint64_t all = 0;
    std::array<std::uint64_t, kKept> upTo{}; ///< by result number, modulo kKept: when it and all before are done
    std::uint32_t count = 0;

    void add(std::uint64_t time);
    std::uint64_t allBut(std::uint32_t newest) const;
  };

  std::uint64_t now_ = 0;
  std::uint64_t copies_ = 0, products_ = 0;      ///< completion of the last ones
  std::uint8_t last_ = isa::Control::kNoBarrier; ///< the scoreboard of the last instruction's result
  std::array<Queue, kQueues> queues_;
};

} // namespace orias::emu

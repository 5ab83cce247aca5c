#pragma once

#include "tools/emulator/issue_cost.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace orias::emu {

/// The time of one warp in the estimates: when it may issue its next instruction, and when what it waits for is there.
class WarpClock {
 public:
  std::uint64_t now() const { return now_; }
  /// The earliest cycle in which the warp can issue this instruction: its last stall count is over, and the
  /// scoreboards, copies and products that it waits for are there.
  std::uint64_t readyAt(const IssueCost& cost) const;
  /// It is issued at `start`. Its unit begins with it at `begin`, and has `extra` cycles more work than usual.
  void issue(const IssueCost& cost, std::uint64_t start, std::uint64_t begin, std::uint64_t extra);
  /// The result of the last instruction comes later.
  void delayResult(std::uint64_t cycles);
  /// The warp goes on behind a barrier, not before `time`.
  void waitUntil(std::uint64_t time) { now_ = std::max(now_, time); }

 private:
  static constexpr unsigned kScoreboards = 6, kProducts = kScoreboards, kQueues = kScoreboards + 1, kKept = 8;

  /// When the results that take a scoreboard, or the groups of products, are there: all of them, and all but the
  /// newest.
  struct Queue {
    std::uint64_t all = 0;
    std::array<std::uint64_t, kKept> upTo{}; ///< by number of the result, modulo kKept: it and all before it
    std::uint32_t count = 0;

    void add(std::uint64_t time);
    std::uint64_t allBut(std::uint32_t newest) const;
  };

  std::uint64_t now_ = 0;
  std::uint64_t copies_ = 0, products_ = 0;      ///< when the last ones are done
  std::uint8_t last_ = isa::Control::kNoBarrier; ///< the scoreboard that the last instruction took for its result
  std::array<Queue, kQueues> queues_;
};

} // namespace orias::emu

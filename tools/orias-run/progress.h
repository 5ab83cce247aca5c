#pragma once

#include "tools/launch/launch.h"

#include <chrono>

namespace orias::run {

/// Reports the progress of a run on standard error, about once a second: on a terminal in one line that is overwritten,
/// otherwise in separate lines.
class ProgressLine final : public launch::Progress {
 public:
  explicit ProgressLine(const launch::Launch& launch);
  /// Clears the line.
  ~ProgressLine() override;
  void tell(std::uint64_t threadInstructions, std::uint64_t ctas) override;

  static bool isTerminal();

 private:
  using Time = std::chrono::steady_clock::time_point;
  const launch::Launch& launch_;
  bool overwrites_;
  bool isShown_ = false;
  Time start_, last_;
};

} // namespace orias::run

#pragma once

#include "tools/launch/launch.h"

#include <chrono>

namespace orias::run {

/// Says on standard error, about once a second, how far a run has come: one line that is written over on a terminal,
/// one after the other elsewhere.
class ProgressLine final : public launch::Progress {
 public:
  explicit ProgressLine(const launch::Launch& launch);
  /// Takes the line away.
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

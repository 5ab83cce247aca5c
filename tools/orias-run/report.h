#pragma once

#include "tools/launch/launch.h"

#include <string>
#include <vector>

namespace orias::run {

/// How a launch went.
struct Outcome {
  launch::RunResult result;
  std::vector<launch::Mismatch> wrong;     ///< against the launch file
  std::vector<launch::Mismatch> different; ///< against the second program
  bool compared = false;                   ///< there was a second program
  double seconds = 0;

  bool good() const { return result.completed && result.reports.empty() && wrong.empty() && different.empty(); }
};

/// For people: what was to be printed, findings, and the verdict in the last line.
std::string renderText(const Outcome& outcome, const launch::Device& device);
/// The same facts for programs.
std::string renderJson(const Outcome& outcome, const launch::Device& device);

} // namespace orias::run

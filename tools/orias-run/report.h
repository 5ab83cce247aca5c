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
  bool endedAsExpected = false;            ///< completed, or stopped as the launch says
  bool compared = false;                   ///< there was a second program
  double seconds = 0;

  /// The report of a stop that the launch wants is no finding.
  bool hasFindings() const { return result.reports.size() > (result.completed ? 0 : 1); }
  bool good() const { return endedAsExpected && !hasFindings() && wrong.empty() && different.empty(); }
};

/// For people: what was to be printed, findings, and the verdict in the last line.
std::string renderText(const Outcome& outcome, const launch::Device& device);
/// The same facts for programs.
std::string renderJson(const Outcome& outcome, const launch::Device& device);

} // namespace orias::run

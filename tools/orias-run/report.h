#pragma once

#include "tools/launch/launch.h"

#include <string>
#include <vector>

namespace orias::run {

/// The outcome of a launch.
struct Outcome {
  launch::RunResult result;
  std::vector<launch::Mismatch> wrong;     ///< differences from the launch file
  std::vector<launch::Mismatch> different; ///< differences from the second program
  bool endedAsExpected = false;            ///< completed, or stopped as the launch specifies
  bool compared = false;                   ///< there was a second program
  double seconds = 0;

  /// The report of an expected stop is not a finding.
  bool hasFindings() const { return result.reports.size() > (result.completed ? 0 : 1); }
  bool good() const { return endedAsExpected && !hasFindings() && wrong.empty() && different.empty(); }
};

/// For users: the requested elements, findings, and the verdict in the last line.
std::string renderText(const Outcome& outcome, const launch::Device& device);
/// The same facts in machine-readable form.
std::string renderJson(const Outcome& outcome, const launch::Device& device);

} // namespace orias::run

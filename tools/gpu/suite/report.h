#pragma once

#include "tools/gpu/suite/result.h"

#include <string>
#include <vector>

namespace orias::gpu {

/// The content of a report in addition to the results.
struct RunFacts {
  std::string made;       ///< Plan::made
  std::string device;     ///< name, chip and driver
  std::string whyStopped; ///< before the end; empty: the run is complete
  double seconds = 0;     ///< of this run
  const Plan* plan = nullptr;
};

/// The pair or instruction of some probes: measured, and in our tables.
struct LatencyLine {
  Probe::Kind kind = Probe::Kind::Latency;
  std::string what;
  unsigned table = 0;          ///< cycles
  std::optional<double> found; ///< cycles: measured, or the lowest stall count with right results; none: never right
  bool isShort = false;        ///< the table has fewer cycles than the device requires: our code may be wrong
};
std::vector<LatencyLine> latencies(const std::vector<Result>& results);

/// A case with timings of two candidates.
struct TimeLine {
  std::string name;            ///< "launches/gemm"
  std::string level;           ///< "-O3"
  double ours = 0, theirs = 0; ///< least microseconds
  unsigned ourRegisters = 0, theirRegisters = 0;
  double ourCopies = 0, theirCopies = 0; ///< the same with copies of the grid; 0: not timed
  double overhead = 0;                   ///< microseconds of a launch of an almost empty kernel; 0: not known
  double ratio() const { return ours / theirs; }
  /// The ratio without the overhead; nothing for kernels that take hardly longer than the overhead.
  std::optional<double> netRatio() const;
  /// The ratio with copies of the grid that fill the machine; nothing if they were not timed.
  std::optional<double> copiesRatio() const;
};
/// Sorted by descending ratio, the net ratio if there is one.
std::vector<TimeLine> times(const std::vector<Result>& results);

/// A few lines for the terminal: the number of items by group and outcome.
std::string summaryText(const std::vector<Result>& results);

/// Writes `report.json` and `report.html`, a page that needs no other file. Throws orias::Error.
void writeReport(const std::string& folder, const std::vector<Result>& results, const RunFacts& facts);

/// The page.
std::string htmlPage(const std::vector<Result>& results, const RunFacts& facts);

} // namespace orias::gpu

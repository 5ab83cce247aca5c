#pragma once

#include "tools/gpu/suite/result.h"

#include <string>
#include <vector>

namespace orias::gpu {

/// What a report says besides the results.
struct RunFacts {
  std::string made;       ///< Plan::made
  std::string device;     ///< name, chip and driver
  std::string whyStopped; ///< before the end; empty: everything has run
  double seconds = 0;     ///< of this run
  const Plan* plan = nullptr;
};

/// The pair or instruction of some probes, measured and in our tables.
struct LatencyLine {
  Probe::Kind kind = Probe::Kind::Latency;
  std::string what;
  unsigned table = 0;          ///< cycles
  std::optional<double> found; ///< cycles: measured, or the least stall count with right results; none: never right
  bool isShort = false;        ///< the table has fewer cycles than the device needs: our code may be wrong
};
std::vector<LatencyLine> latencies(const std::vector<Result>& results);

/// A case that two candidates were timed on.
struct TimeLine {
  std::string name;            ///< "launches/gemm"
  std::string level;           ///< "-O3"
  double ours = 0, theirs = 0; ///< least microseconds
  unsigned ourRegisters = 0, theirRegisters = 0;
  double ourCopies = 0, theirCopies = 0; ///< the same with copies of the grid; 0: not timed
  double overhead = 0; ///< microseconds of a launch of a kernel that does next to nothing; 0: not known
  double ratio() const { return ours / theirs; }
  /// Without the overhead; nothing for kernels that take hardly longer.
  std::optional<double> netRatio() const;
  /// With copies of the grid that fill the machine; nothing where they were not timed.
  std::optional<double> copiesRatio() const;
};
/// By falling ratio, the net ratio where there is one.
std::vector<TimeLine> times(const std::vector<Result>& results);

/// A few lines for the terminal: how many items ended how, by group.
std::string summaryText(const std::vector<Result>& results);

/// Writes `report.json` and `report.html`, a page that needs no other file. Throws orias::Error.
void writeReport(const std::string& folder, const std::vector<Result>& results, const RunFacts& facts);

/// The page.
std::string htmlPage(const std::vector<Result>& results, const RunFacts& facts);

} // namespace orias::gpu

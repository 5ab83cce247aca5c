#pragma once

#include "tools/common/program.h"
#include "tools/gpu/suite/result.h"

#include <string>

namespace orias::gpu {

struct SuiteOptions {
  std::string library;            ///< of the CUDA driver
  std::string out;                ///< the folder for results
  double minutes = 0;             ///< the time budget; 0: none
  double itemSeconds = 10;        ///< the time limit of one item
  double startSeconds = 60;       ///< the time limit for opening the driver
  bool withCopies = false;        ///< also time launches with copies of their grids that fill the device
  unsigned maxFamilyFailures = 4; ///< faults and hangs of a family, after which the rest of it is skipped
};

/// Runs the items in order, each in a process that is replaced after a fault, a crash or a hang. Writes `results.jsonl`
/// continuously, `report.json` and `report.html` periodically and at the end. Items that already have a result in the
/// folder are not run again. Skipped: there is no GPU. InputErrors: some item is an alarm.
tools::ExitStatus runSuite(const Plan& plan, const SuiteOptions& options);

} // namespace orias::gpu

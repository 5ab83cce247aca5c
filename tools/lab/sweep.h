#pragma once

#include "tools/lab/plan.h"
#include "tools/lab/store.h"

#include <functional>
#include <string>

namespace orias::lab {

/// The progress of a sweep.
struct SweepProgress {
  std::size_t done = 0, all = 0; ///< jobs; those of earlier runs count as done
  std::size_t failed = 0;
  double secondsLeft = 0; ///< estimated from the jobs of this run
};

struct SweepOptions {
  std::string program; ///< executes jobs, see JobProcesses
  unsigned atOnce = 1;
  std::string failureFolder; ///< folder for failed jobs
  std::function<void(const SweepProgress&)> progress;
};

/// Executes the jobs of a plan that are not in the store. Returns the progress: `done` equals `all`. Failures are kept
/// in the store with their message, and in a folder each with inputs and command line.
SweepProgress sweep(const Plan& plan, Store& store, const SweepOptions& options);

} // namespace orias::lab

#pragma once

#include "tools/lab/plan.h"
#include "tools/lab/store.h"

#include <functional>
#include <string>

namespace orias::lab {

/// How far a sweep is.
struct SweepProgress {
  std::size_t done = 0, all = 0; ///< jobs; those of earlier runs are done
  std::size_t failed = 0;
  double secondsLeft = 0; ///< estimated from the jobs of this run
};

struct SweepOptions {
  std::string program; ///< what does jobs, see JobProcesses
  unsigned atOnce = 1;
  std::string failureFolder; ///< where failed jobs are kept
  std::function<void(const SweepProgress&)> progress;
};

/// Does the jobs of a plan that the store does not have. Returns how far it came: `done` is `all`. What fails is kept
/// in the store with its message, and in a folder of its own with its inputs and its command line.
SweepProgress sweep(const Plan& plan, Store& store, const SweepOptions& options);

} // namespace orias::lab

#pragma once

#include "tools/lab/store.h"

#include <cstdint>
#include <functional>
#include <string>

namespace orias::lab {

/// A command that is run with consecutive seeds: random programs, fuzzers.
struct SoakOptions {
  std::string command;         ///< for the shell; `{seed}` is replaced by the seed
  std::uint64_t firstSeed = 1; ///< seeds ascend from here; those that the store has for this command are skipped
  double seconds = 300;        ///< no run is started after this time
  std::size_t mostRuns = 0;    ///< likewise after this number of runs; 0: no limit
  unsigned atOnce = 1;
  unsigned secondsPerRun = 1800; ///< a longer run has failed
  std::function<void(const SoakRun&)> tell;
};

struct Soaked {
  std::size_t runs = 0, failed = 0; ///< in this call
  std::size_t known = 0;            ///< seeds that were in the store
};

/// Runs the command until the time has elapsed, and stores each result. A run with an exit status other than 0 has
/// failed. Throws orias::Error for a command without `{seed}` and for a store that cannot be written.
Soaked soak(const SoakOptions& options, Store& store);

} // namespace orias::lab

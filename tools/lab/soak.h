#pragma once

#include "tools/lab/store.h"

#include <cstdint>
#include <functional>
#include <string>

namespace orias::lab {

/// A command that is run with one seed after the other: random programs, fuzzers.
struct SoakOptions {
  std::string command;         ///< for the shell; `{seed}` stands for the seed
  std::uint64_t firstSeed = 1; ///< seeds go up from here; those that the store has for this command are left out
  double seconds = 300;        ///< nothing is started after this
  std::size_t mostRuns = 0;    ///< the same after so many runs; 0: no limit
  unsigned atOnce = 1;
  unsigned secondsPerRun = 1800; ///< a run that takes longer has failed
  std::function<void(const SoakRun&)> tell;
};

struct Soaked {
  std::size_t runs = 0, failed = 0; ///< of this call
  std::size_t known = 0;            ///< seeds that the store had
};

/// Runs the command until the time is over, and keeps each result. A run that ends with another status than 0 has
/// failed. Throws orias::Error for a command without `{seed}` and for a store that cannot be written.
Soaked soak(const SoakOptions& options, Store& store);

} // namespace orias::lab

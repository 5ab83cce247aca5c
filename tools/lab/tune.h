#pragma once

#include "tools/lab/job.h"
#include "tools/lab/store.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::lab {

/// What tuning makes small.
enum class Objective : std::uint8_t {
  Cycles,            ///< estimated cycles of the launch
  FullMachineCycles, ///< estimated cycles of a block on a full multiprocessor
  Registers,         ///< of the launched kernel; then cycles
};

struct TuneOptions {
  Job job;            ///< with a launch; its knobs are where the search begins
  std::string kernel; ///< the launched one
  Objective objective = Objective::Cycles;
  double seconds = 300; ///< no further jobs are started after this time
  std::size_t mostJobs =
      0; ///< likewise after so many jobs; 0: no bound. With a bound on jobs the result is the same each time
  std::uint64_t seed = 1;
  std::vector<std::string> knobs;   ///< the knobs to search; empty: all that are not for debugging and assume nothing
  std::vector<std::string> options; ///< options to search: "-O2", "--maxrregcount=64"; one of each name at a time
  std::string program;              ///< see JobProcesses
  unsigned atOnce = 1;
  std::function<void(std::string_view)> tell; ///< progress, a line each
};

/// A knob or option that helps, and the objective without it.
struct KnobGain {
  std::string setting; ///< "NAME=VALUE", or the option
  double without = 0;
};

struct Tuned {
  double before = 0, after = 0;
  std::vector<std::string> knobs;   ///< the best settings found
  std::vector<std::string> options; ///< likewise
  std::vector<KnobGain> gains;      ///< for each of them
  std::size_t settings = 0;         ///< that were compiled
  std::size_t jobs = 0;             ///< that were run: those whose code differs
};

/// Searches knobs and options for one kernel: random settings first, of which the better half is kept and changed
/// further, in rounds of half the size with twice the changes tried for each; then local search from the best. Each
/// setting is compiled first; it is run only if no setting before it has given the same code. A setting counts only if
/// the launch leaves what the PTX interpreter leaves. At last each knob and option is reset in turn, and stays so if
/// nothing is lost. Throws orias::Error if the kernel does not run right to begin with.
Tuned tune(const TuneOptions& options, Store& store);

/// The figure that an objective looks at; infinite unless the job is done and right.
double objectiveOf(const Measurement& found, const TuneOptions& options);

/// A knob file with the settings in the section of the kernel.
std::string knobFile(const Tuned& tuned, const TuneOptions& options);

} // namespace orias::lab

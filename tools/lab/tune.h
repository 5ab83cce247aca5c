#pragma once

#include "tools/lab/job.h"
#include "tools/lab/store.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::lab {

/// What to minimize.
enum class Objective : std::uint8_t {
  Cycles,            ///< estimated cycles of the launch
  FullMachineCycles, ///< estimated cycles of a block on a full multiprocessor
  Registers,         ///< of the launched kernel; then cycles
};

struct TuneOptions {
  Job job;            ///< with a launch; its knobs are the start of the search
  std::string kernel; ///< the launched one
  Objective objective = Objective::Cycles;
  double seconds = 300; ///< no job is started after this time
  std::size_t mostJobs =
      0; ///< likewise after this number of jobs; 0: no limit. With a limit on jobs the result is reproducible
  std::uint64_t seed = 1;
  std::vector<std::string> knobs;   ///< the knobs to search; empty: all but debugging aids and assumptions
  std::vector<std::string> options; ///< options to search: "-O2", "--maxrregcount=64"; one of each name at a time
  std::string program;              ///< see JobProcesses
  unsigned atOnce = 1;
  std::function<void(std::string_view)> tell; ///< receives the progress, line by line
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
  std::size_t settings = 0;         ///< compiled settings
  std::size_t jobs = 0;             ///< launches that were run: one for each different code
};

/// Searches knobs and options for one kernel. It starts with random settings, keeps the better half and changes it
/// further, in iterations of half the size with twice the changes per setting. A local search from the best setting
/// follows. Each setting is compiled first, and run only if no earlier setting has given the same code. A setting is
/// valid only if the launch leaves the same memory as the PTX interpreter. Finally each knob and option is reset in
/// turn, and left at its default if nothing is lost. Throws orias::Error if the kernel does not run correctly at the
/// start.
Tuned tune(const TuneOptions& options, Store& store);

/// The value of the objective; infinite unless the job is done and correct.
double objectiveOf(const Measurement& found, const TuneOptions& options);

/// A knob file with the settings in the section of the kernel.
std::string knobFile(const Tuned& tuned, const TuneOptions& options);

} // namespace orias::lab

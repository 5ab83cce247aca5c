#pragma once

#include "tools/lab/diff.h"
#include "tools/lab/job_files.h"
#include "tools/lab/render.h"
#include "tools/lab/tune.h"

#include <span>
#include <string>
#include <vector>

namespace orias::lab {

/// The parsed command line.
struct CommandLine {
  enum class Command : std::uint8_t {
    Help,
    Sweep,
    Tune,
    Query,
    Export,
    Report,
    Diff,
    Jobs,
    Merge,
    Soak,
    DoJob,
    RunJob
  };

  Command command = Command::Help;
  std::string input; ///< plan, launch file, SQL, folder or job
  std::string storePath;
  std::string output = "-";
  unsigned atOnce = 0; ///< 0: one per core
  TableFormat format = TableFormat::Text;
  Engine engine = Engine::Ninja;
  DiffOptions diff;
  // tune
  Objective objective = Objective::Cycles;
  double seconds = 300;
  std::size_t mostJobs = 0;
  std::uint64_t seed = 1;
  std::string chip;
  std::vector<std::string> knobs, options;
};

/// Reads the words after the program's name. Throws tools::UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

std::string helpText();

} // namespace orias::lab

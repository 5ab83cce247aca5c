#pragma once

#include "tools/reduce/oracle.h"

#include <span>
#include <string>

namespace orias::reduce {

/// The parsed command line.
struct CommandLine {
  bool help = false;
  std::string helpText;
  std::string input, launch, output; ///< `output`: the reduced PTX; the launch file is written next to it
  std::string command;               ///< empty: `trial` decides
  std::string arch;                  ///< empty: the program's requirement (engines::archOf)
  Trial trial;
  std::uint64_t attempts = 0;
};

/// Throws tools::UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

} // namespace orias::reduce

#pragma once

#include "tools/reduce/oracle.h"

#include <span>
#include <string>

namespace orias::reduce {

/// What the user asked for.
struct CommandLine {
  bool help = false;
  std::string helpText;
  std::string input, launch, output; ///< `output`: the reduced PTX; the launch file goes beside it
  std::string command;               ///< empty: `trial` decides
  std::string arch;                  ///< empty: what the program needs (engines::archOf)
  Trial trial;
  std::uint64_t attempts = 0;
};

/// Throws tools::UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

} // namespace orias::reduce

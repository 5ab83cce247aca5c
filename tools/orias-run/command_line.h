#pragma once

#include "orias/options.h"
#include "tools/launch/launch.h"

#include <optional>
#include <span>
#include <string>

namespace orias::run {

/// The parsed command line.
struct CommandLine {
  bool help = false;
  std::string launchFile;
  std::string program;     ///< empty: the one in the launch file
  std::string compareWith; ///< a second program; may be empty
  bool assemble = false;   ///< run the cubin that orias assembles from the PTX
  Options assembleOptions; ///< options for that
  launch::RunOptions run;
  std::optional<std::string> traceFile; ///< `-`: standard output
  bool json = false;
  bool progress = false; ///< write progress lines to standard error even if it is not a terminal
};

/// Reads the words after the program's name. Throws tools::UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

std::string helpText();

} // namespace orias::run

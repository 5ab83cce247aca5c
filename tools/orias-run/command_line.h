#pragma once

#include "orias/options.h"
#include "tools/launch/launch.h"

#include <optional>
#include <span>
#include <string>

namespace orias::run {

/// What the user asked for.
struct CommandLine {
  bool help = false;
  std::string launchFile;
  std::string program;     ///< empty: the one that the launch file names
  std::string compareWith; ///< a second program; may be empty
  bool assemble = false;   ///< run the cubin that orias makes of the PTX
  Options assembleOptions; ///< how
  launch::RunOptions run;
  std::optional<std::string> traceFile; ///< `-`: standard output
  bool json = false;
  bool progress = false; ///< a line on standard error even where that is no terminal
};

/// Reads the words after the program's name. Throws tools::UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

std::string helpText();

} // namespace orias::run

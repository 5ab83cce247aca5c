#pragma once

#include "tools/gpu/suite/supervisor.h"

#include <span>
#include <string>
#include <vector>

namespace orias::gpu {

/// The command line of orias-gpu-suite.
struct SuiteCommand {
  bool help = false, list = false, fresh = false;
  std::string cases;             ///< the folder of cases
  std::string extract;           ///< a folder for the items' files, which are then not run
  std::vector<std::string> only; ///< prefixes of the names of items; empty: all
  SuiteOptions suite;
};

/// Reads the words after the program's name. Throws tools::UsageError.
SuiteCommand parseSuiteCommand(std::span<const std::string> words);
std::string suiteHelp();

/// The whole program, without its name in `words`.
tools::ExitStatus runSuiteProgram(std::span<const std::string> words);

} // namespace orias::gpu

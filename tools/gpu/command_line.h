#pragma once

#include "orias/options.h"
#include "tools/gpu/gpu_run.h"

#include <span>
#include <string>
#include <vector>

namespace orias::gpu {

/// The parsed command line.
struct CommandLine {
  bool help = false;
  std::vector<std::string> launchFiles;
  std::vector<std::string> cubins; ///< run in addition to ours; only with one launch
  bool withPtxas = false;          ///< also the cubin from ptxas
  std::string library;             ///< of the CUDA driver
  Options assembleOptions;
  TimingOptions timing;
};

/// Reads the words after the program's name. Throws tools::UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

std::string helpText();

} // namespace orias::gpu

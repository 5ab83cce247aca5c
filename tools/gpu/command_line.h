#pragma once

#include "orias/options.h"
#include "tools/gpu/gpu_run.h"

#include <span>
#include <string>
#include <vector>

namespace orias::gpu {

/// What the user asked for.
struct CommandLine {
  bool help = false;
  std::vector<std::string> launchFiles;
  std::vector<std::string> cubins; ///< run besides ours; only with one launch
  bool withPtxas = false;          ///< the cubin that ptxas makes, too
  std::string library;             ///< of the CUDA driver
  Options assembleOptions;
  TimingOptions timing;
};

/// Reads the words after the program's name. Throws tools::UsageError.
CommandLine parseCommandLine(std::span<const std::string> words);

std::string helpText();

} // namespace orias::gpu

#pragma once

#include "tools/gpu/gpu_run.h"
#include "tools/launch/launch.h"

#include <string>

namespace orias::gpu {

/// The verdict on the results of a launch, from any engine.
struct Verdict {
  bool good = false;
  std::string text;    ///< "as expected", "wrong results", "trap"
  std::string details; ///< lines indented by four spaces
};

/// Compares the memory after a run, in `device`, with the launch's expectations and with `reference`, the memory after
/// another engine (null: none).
Verdict judge(const launch::Device& device, const launch::RunResult& result, const launch::Device* reference);

/// Likewise for a run on a GPU; writes outside the buffers are wrong, too.
Verdict judge(const launch::Device& device, const GpuRun& run, const launch::Device* reference);

} // namespace orias::gpu

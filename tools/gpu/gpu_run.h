#pragma once

#include "tools/gpu/cuda.h"
#include "tools/launch/launch.h"

#include <span>
#include <string>
#include <vector>

namespace orias::gpu {

struct TimingOptions {
  unsigned warmUps = 3;
  unsigned repetitions = 20;          ///< 0: the launch is only run once, for its results
  double maxMicroseconds = 2'000'000; ///< no further repetition starts after so much time in timed kernels
  unsigned gridCopies = 0;            ///< above 1: then times launches with so many copies of the grid along z, too
};

/// How a launch went on the device.
struct GpuRun {
  launch::RunResult result;         ///< completed, or the report of a fault
  unsigned registers = 0;           ///< of a thread
  unsigned localBytes = 0;          ///< of a thread
  std::vector<double> microseconds; ///< of each repetition, in rising order
  std::vector<std::string> strays;  ///< writes outside the buffers: "3 bytes changed after 'out'"

  std::vector<double> copiesMicroseconds; ///< of launches with copies of the grid, in rising order
  std::string copiesFault;                ///< why launches with copies of the grid failed; the device is lost then

  double median() const { return microseconds.empty() ? 0 : microseconds[microseconds.size() / 2]; }
};

/// Runs a launch from a cubin. What it leaves in buffers and in the variables that the launch names comes back in
/// `device`. The buffers lie in one allocation, with guard bytes between them that are checked after the run. Every
/// repetition starts from the same contents and is timed by events around the kernel alone. A fault of
/// the kernel is in the result; throws CudaError for everything else that fails (a cubin that does not load, ...).
GpuRun runOnGpu(const Cuda& cuda, std::span<const std::byte> cubin, launch::Device& device,
                const TimingOptions& timing);

} // namespace orias::gpu

#pragma once

#include "tools/gpu/cuda.h"
#include "tools/launch/launch.h"

#include <span>
#include <string>
#include <vector>

namespace orias::gpu {

struct TimingOptions {
  unsigned warmUps = 3;
  unsigned repetitions = 20;          ///< 0: the launch runs once, only for its results
  double maxMicroseconds = 2'000'000; ///< no further repetition starts after this total time in timed kernels
  unsigned gridCopies = 0;            ///< above 1: also times launches with this number of copies of the grid along z
};

/// The outcome of a launch on the device.
struct GpuRun {
  launch::RunResult result;         ///< completed, or the report of a fault
  unsigned registers = 0;           ///< per thread
  unsigned localBytes = 0;          ///< per thread
  std::vector<double> microseconds; ///< of each repetition, sorted
  std::vector<std::string> strays;  ///< writes outside the buffers: "3 bytes changed after 'out'"

  std::vector<double> copiesMicroseconds; ///< of launches with copies of the grid, sorted
  std::string copiesFault;                ///< why launches with copies of the grid failed; the device is then lost

  double median() const { return microseconds.empty() ? 0 : microseconds[microseconds.size() / 2]; }
};

/// Runs a launch with a cubin. The resulting buffers and named variables are returned in `device`. The buffers share
/// one allocation, with guard bytes between them that are checked after the run. Every repetition starts from the same
/// contents and is timed by events around the kernel only. A fault of the kernel is in the result. Throws CudaError for
/// all other failures (a cubin that does not load, ...).
GpuRun runOnGpu(const Cuda& cuda, std::span<const std::byte> cubin, launch::Device& device,
                const TimingOptions& timing);

} // namespace orias::gpu

#include "orias/launch_limits.h"

#include "encoder/isa/target.h"
#include "ori/module.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias {

namespace {

constexpr unsigned kWarpSize = 32;

unsigned threadsPerBlock(const ori::LaunchBounds& bounds) {
  const auto& xyz = bounds.reqntid[0] ? bounds.reqntid : bounds.maxntid;
  if (xyz[0] == 0) return 0;
  return xyz[0] * std::max(1U, xyz[1]) * std::max(1U, xyz[2]);
}

unsigned warpsPerBlock(const ori::LaunchBounds& bounds) {
  return (threadsPerBlock(bounds) + kWarpSize - 1) / kWarpSize;
}

} // namespace

void applyLaunchOptions(ori::Function& kernel, const Options& options, Diagnostics& diagnostics) {
  if (!kernel.isKernel()) return;
  ori::LaunchBounds& bounds = kernel.bounds;
  const LaunchOptions& launch = options.launch;
  const bool isBounded = bounds.maxntid[0] != 0 || bounds.reqntid[0] != 0;
  if (launch.maxntid[0] != 0 && (!isBounded || (launch.overrideDirectives && bounds.reqntid[0] == 0)))
    std::copy(launch.maxntid.begin(), launch.maxntid.end(), bounds.maxntid);
  if (launch.minnctapersm != 0 && (bounds.minnctapersm == 0 || launch.overrideDirectives))
    bounds.minnctapersm = launch.minnctapersm;
  const unsigned mostWarps = kernel.module().target().maxWarpsPerSm();
  if (bounds.minnctapersm > 1 && warpsPerBlock(bounds) * bounds.minnctapersm > mostWarps) {
    diagnostics.warning({}, fmt::format("Value of threads per SM for entry {} is out of range. .minnctapersm will be "
                                        "ignored",
                                        kernel.name()));
    bounds.minnctapersm = 0;
  }
}

unsigned registerCeiling(const ori::Function& function, const Options& options) {
  const isa::Target& target = function.module().target();
  const ori::LaunchBounds& bounds = function.bounds;
  unsigned ceiling = target.maxRegistersPerThread();
  auto lower = [&](unsigned limit) {
    if (limit) ceiling = std::min(ceiling, limit);
  };
  const unsigned warps = warpsPerBlock(bounds);
  const bool optionHolds = options.maxRegisters != Options::kNoRegisterLimit &&
                           (options.launch.overrideDirectives || (bounds.maxnreg == 0 && warps == 0));
  lower(optionHolds ? options.maxRegisters : bounds.maxnreg);
  if (warps != 0) lower(target.registersForWarps(warps * std::max(1U, bounds.minnctapersm)));
  return ceiling;
}

} // namespace orias

#pragma once

#include "orias/module_remarks.h"
#include "orias/orias.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias {

class FunctionJob;

/// The metrics of phase M11, KernelInfoPrinter, in their order. Tools read them by position, so the order is fixed.
/// Counts are of the final instructions of the kernel itself, without padding and without its callees.
///   regs, barriers   as the hardware counts them, with the functions that the kernel calls
///   smem, cmem       bytes of static shared memory, and of constant bank 0 with the parameters
///   tex              textures, samplers and surfaces that the kernel uses
///   params           bytes of parameters
///   local, stack     bytes of local variables; of the whole frame, with spill slots and the frames of callees
///   loads, stores    reads of memory or textures, writes of memory; atomics are both; without constant banks
///   branches         branches, without calls, returns and exits
///   fp_ops, int_ops  arithmetic, conversions and comparisons on floating-point and on other operands; without copies
///   divergence       divergent branches
///   predicated       guarded instructions that are not branches or exits
///   vector_ops       packed 16-bit arithmetic, and accesses wider than one register
///   mma_ops, tcgen05_ops, tma_ops  matrix products; tensor memory; bulk and tensor copies
inline constexpr std::array<std::string_view, 19> kKernelMetrics = {
    "regs",       "smem",       "cmem",    "tex",         "params", "local",   "stack",
    "barriers",   "loads",      "stores",  "branches",    "fp_ops", "int_ops", "divergence",
    "predicated", "vector_ops", "mma_ops", "tcgen05_ops", "tma_ops"};

/// A remaining access through a generic address, and the reason.
struct GenericAccess {
  std::uint32_t line = 0; ///< of the PTX
  std::string instruction;
  std::string reason;
};

struct KernelInfo {
  std::string function;
  std::array<std::uint64_t, kKernelMetrics.size()> metrics{}; ///< by kKernelMetrics
  std::vector<GenericAccess> genericAccesses;
};

/// Counts the final instructions of a job. `remarks` has the reasons for generic accesses (phases M6 and M7).
KernelInfo kernelInfo(const FunctionJob& job, const FunctionReport& report, std::span<const ModuleRemark> remarks);

/// A line for each metric, "kernel-info: <metric> in function '<name>' = <value>", then one for each generic access.
std::string kernelInfoText(std::span<const KernelInfo> kernels);

/// A JSON array: objects with "function", "metrics" and "genericAccesses".
std::string kernelInfoJson(std::span<const KernelInfo> kernels);

} // namespace orias

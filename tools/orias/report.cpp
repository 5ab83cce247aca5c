#include "tools/orias/report.h"

#include "encoder/isa/target.h"

#include <boost/range/adaptor/reversed.hpp>
#include <fmt/format.h>

namespace orias::driver {

namespace {

/// ptxas reports the sizes of constant banks only for chips whose parameters start here (sm_75 to sm_89; observed).
constexpr std::uint32_t kParamBaseWithConstantSizes = 0x160;

bool showsConstantBanks(const Options& options) {
  auto arch = isa::Target::parse(options.arch);
  return arch && arch->target->paramBase() == kParamBaseWithConstantSizes;
}

} // namespace

std::string verboseReport(const Result& result, const Options& options) {
  const Statistics& all = result.statistics;
  bool constants = showsConstantBanks(options);
  std::string out = fmt::format("ptxas info    : {} bytes gmem", all.globalBytes);
  if (constants && all.constantBytes) out += fmt::format(", {} bytes cmem[3]", all.constantBytes);
  if (constants && all.addressBytes) out += fmt::format(", {} bytes cmem[4]", all.addressBytes);
  out += '\n';

  // ptxas lists the functions from last to first (observed).
  for (const FunctionReport& function : boost::adaptors::reverse(all.functions)) {
    if (function.isKernel)
      out += fmt::format("ptxas info    : Compiling entry function '{}' for '{}'\n", function.name, options.arch);
    out += fmt::format("ptxas info    : Function properties for {}\n"
                       "    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads\n",
                       function.name, function.frameBytes, function.spillStoreBytes, function.spillLoadBytes);
    if (!function.isKernel) continue;
    out += fmt::format("ptxas info    : Used {} registers, used {} barriers", function.registers, function.barriers);
    if (function.stackBytes) out += fmt::format(", {} bytes cumulative stack size", function.stackBytes);
    if (function.sharedBytes) out += fmt::format(", {} bytes smem", function.sharedBytes);
    if (constants) out += fmt::format(", {} bytes cmem[0]", function.constantBytes);
    out += fmt::format("\nptxas info    : Compile time = {:.3f} ms\n", function.milliseconds);
    // Not in ptxas' reports.
    if (function.maxWarps != 0)
      out += fmt::format("ptxas info    : {} of {} warps on a multiprocessor in blocks of {} threads, limited by {}\n",
                         function.warps, function.maxWarps, function.threadsPerBlock, function.limitedBy);
  }
  return out;
}

std::string usageWarnings(const Result& result, const Options& options) {
  if (options.disableWarnings) return {};
  std::string_view head = options.warningsAreErrors ? "ptxas error   : " : "ptxas warning : ";
  std::string out;
  for (const FunctionReport& function : boost::adaptors::reverse(result.statistics.functions)) {
    if (options.warnLocalMemory && function.frameBytes)
      out += fmt::format("{}Local memory used for function '{}', size of stack frame: {} bytes\n", head, function.name,
                         function.frameBytes);
    if (options.warnSpills && (function.spillStoreBytes || function.spillLoadBytes))
      out +=
          fmt::format("{}Registers are spilled to local memory in function '{}', {} bytes spill stores, {} bytes spill "
                      "loads\n",
                      head, function.name, function.spillStoreBytes, function.spillLoadBytes);
  }
  return out;
}

std::string stackWarnings(const Result& result, const Options& options) {
  if (options.disableWarnings || options.suppressStackWarning || options.relocatable) return {};
  std::string out;
  for (const FunctionReport& function : boost::adaptors::reverse(result.statistics.functions))
    if (function.isKernel && function.hasUnknownStack)
      out += fmt::format("ptxas warning : Stack size for entry function '{}' cannot be statically determined\n",
                         function.name);
  return out;
}

} // namespace orias::driver

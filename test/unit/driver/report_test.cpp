#include "tools/orias/report.h"

#include <doctest/doctest.h>

using namespace orias;

namespace {

Result twoKernels() {
  Result result;
  result.statistics.globalBytes = 40;
  result.statistics.constantBytes = 16;
  FunctionReport first;
  first.name = "k2";
  first.registers = 12;
  first.barriers = 2;
  first.sharedBytes = 128;
  first.constantBytes = 364;
  first.frameBytes = 64;
  first.stackBytes = 64;
  first.milliseconds = 2.335;
  FunctionReport second;
  second.name = "k3";
  second.registers = 4;
  second.constantBytes = 352;
  second.spillStoreBytes = 8;
  second.spillLoadBytes = 12;
  second.milliseconds = 1.8854;
  result.statistics.functions = {first, second};
  return result;
}

} // namespace

TEST_CASE("--verbose prints the lines of ptxas, last function first") {
  Options options;
  CHECK(driver::verboseReport(twoKernels(), options) ==
        "ptxas info    : 40 bytes gmem\n"
        "ptxas info    : Compiling entry function 'k3' for 'sm_90'\n"
        "ptxas info    : Function properties for k3\n"
        "    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 4 registers, used 0 barriers\n"
        "ptxas info    : Compile time = 1.885 ms\n"
        "ptxas info    : Compiling entry function 'k2' for 'sm_90'\n"
        "ptxas info    : Function properties for k2\n"
        "    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 12 registers, used 2 barriers, 64 bytes cumulative stack size, 128 bytes smem\n"
        "ptxas info    : Compile time = 2.335 ms\n");
}

TEST_CASE("before sm_90 --verbose tells the sizes of constant banks") {
  Options options;
  options.arch = "sm_80";
  std::string shown = driver::verboseReport(twoKernels(), options);
  CHECK(shown.starts_with("ptxas info    : 40 bytes gmem, 16 bytes cmem[3]\n"));
  CHECK(shown.find("used 2 barriers, 64 bytes cumulative stack size, 128 bytes smem, 364 bytes cmem[0]\n") !=
        std::string::npos);
}

TEST_CASE("a kernel whose stack has no known size gets a warning, which is never an error") {
  Options options;
  Result result = twoKernels();
  CHECK(driver::stackWarnings(result, options).empty());
  result.statistics.functions.front().hasUnknownStack = true;
  options.warningsAreErrors = true;
  CHECK(driver::stackWarnings(result, options) ==
        "ptxas warning : Stack size for entry function 'k2' cannot be statically determined\n");
  Options suppressed = options;
  suppressed.suppressStackWarning = true;
  CHECK(driver::stackWarnings(result, suppressed).empty());
  // For objects the linker prints it.
  options.relocatable = true;
  CHECK(driver::stackWarnings(result, options).empty());
}

TEST_CASE("warnings about spills and frames come only when asked for") {
  Options options;
  CHECK(driver::usageWarnings(twoKernels(), options).empty());
  options.warnSpills = options.warnLocalMemory = true;
  CHECK(driver::usageWarnings(twoKernels(), options) ==
        "ptxas warning : Registers are spilled to local memory in function 'k3', 8 bytes spill stores, 12 bytes spill "
        "loads\n"
        "ptxas warning : Local memory used for function 'k2', size of stack frame: 64 bytes\n");
  options.warningsAreErrors = true;
  CHECK(driver::usageWarnings(twoKernels(), options).starts_with("ptxas error   : Registers are spilled"));
  options.disableWarnings = true;
  CHECK(driver::usageWarnings(twoKernels(), options).empty());
}

// Latency kernels on the emulator with timing. With the cycles of our table the results are correct. With fewer they
// are not, or the emulator reports that a register is read too early.

#include "test/gpu/latency_kernels.h"
#include "tools/engines/engines.h"

#include <doctest/doctest.h>
#include <map>

using namespace orias;
using namespace orias::gpu;

namespace {

const isa::Target& target() {
  return *isa::Target::find("sm_90a");
}

std::vector<std::byte> cubinOf(const LatencyKernel& kernel) {
  Options options;
  options.arch = "sm_90a";
  options.phases.startFrom = "142";
  engines::Compiled compiled = engines::assemble(kernel.text, options);
  INFO(kernel.name, ": ", compiled.verdict.reason);
  REQUIRE(compiled.verdict.isGood());
  return std::move(compiled.cubin);
}

/// The results of the threads; nullopt if the emulator stops or reports an error.
std::optional<std::vector<std::byte>> resultsOf(const LatencyKernel& kernel, bool timing, std::string& why) {
  launch::Device device(kernel.launch);
  launch::RunOptions options;
  options.timing = timing;
  const engines::Verdict verdict = engines::emulate(cubinOf(kernel), device, options);
  why = verdict.reason;
  if (!verdict.isGood()) return std::nullopt;
  const auto bytes = device.bufferBytes(0);
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

} // namespace

TEST_CASE("rings of instructions are right with the cycles of the table, and not with one cycle") {
  unsigned rings = 0;
  for (auto* make : {stallKernels, predicateKernels})
    for (const LatencyKernel& kernel : make(target())) {
      const bool isTable = kernel.probe.stall == kernel.probe.table, isLeast = kernel.probe.stall == 1;
      if (!isTable && !isLeast) continue;
      std::string why;
      const auto plain = resultsOf(kernel, false, why);
      INFO(kernel.name, ": ", why);
      REQUIRE(plain);
      const auto timed = resultsOf(kernel, true, why);
      CHECK((timed == plain) == isTable);
      rings += isTable;
    }
  CHECK(rings > 80);
}

TEST_CASE("a ring goes round: its result depends on each step") {
  for (const LatencyKernel& kernel : stallKernels(target())) {
    if (kernel.probe.stall != kernel.probe.table) continue;
    std::string why;
    const auto results = resultsOf(kernel, false, why);
    REQUIRE(results);
    INFO(kernel.name);
    CHECK(results->front() != std::byte{5}); // the initial value
  }
}

TEST_CASE("chains and rows run with timing") {
  for (const LatencyKernel& kernel : chainKernels(target())) {
    std::string why;
    const auto plain = resultsOf(kernel, false, why), timed = resultsOf(kernel, true, why);
    INFO(kernel.name, ": ", why);
    CHECK(plain);
    CHECK(timed == plain);
    CHECK(kernel.probe.table > 0);
  }
}

TEST_CASE("registers of the uniform datapath that are overwritten keep their old values for those before") {
  for (const LatencyKernel& kernel : uniformOverwriteKernels(target())) {
    std::string why;
    const auto results = resultsOf(kernel, false, why);
    INFO(kernel.name, ": ", why);
    REQUIRE(results);
    CHECK(results->front() == std::byte{3 * 8 * 4}); // iterations, steps, the old value
  }
}

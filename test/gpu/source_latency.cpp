#include "support/check.h"
#include "test/gpu/latency_kernels.h"
#include "test/gpu/sources.h"
#include "tools/engines/engines.h"

namespace orias::gpu {

void latencyCases(const SourceOptions& options, const Sink& sink) {
  constexpr const char* kArch = "sm_90a";
  unsigned number = 0;
  for (LatencyKernel& kernel : latencyKernels(*isa::Target::find(kArch))) {
    if (number++ % options.stride != 0) continue;
    Options assemble;
    assemble.arch = kArch;
    assemble.phases.startFrom = "142"; // keeps the control fields of the text
    engines::Compiled compiled = engines::assemble(kernel.text, assemble);
    Case c;
    c.group = "latency";
    c.name = kernel.name;
    c.text = kernel.text;
    c.launch = std::move(kernel.launch);
    c.probe = kernel.probe;
    c.cycles = 1;
    // The emulator without timing: the results are those of program order, regardless of the stalls.
    launch::Device device(c.launch);
    engines::Verdict verdict = compiled.verdict;
    if (verdict.isGood()) verdict = engines::emulate(compiled.cubin, device);
    if (!verdict.isGood()) {
      sink.leave("latency", c.name, verdict.reason);
      continue;
    }
    c.candidates.push_back({"orias", std::move(compiled.cubin)});
    for (std::size_t i = 0; i < c.launch.buffers.size(); ++i) {
      const auto bytes = device.bufferBytes(i);
      // A large memory is read-only.
      const bool isKept = i < 2 || bytes.size() <= 4096;
      c.memory.emplace_back(bytes.begin(), isKept ? bytes.end() : bytes.begin());
    }
    sink.take(std::move(c));
  }
}

} // namespace orias::gpu

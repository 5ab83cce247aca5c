#include "test/gpu/latency_kernels.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::gpu {

namespace {

/// The instruction cache is warm from the second pass on. The clock is that of the last pass.
constexpr unsigned kPasses = 3;

} // namespace

std::vector<LatencyKernel> latencyKernels(const isa::Target& target) {
  std::vector<LatencyKernel> kernels = chainKernels(target);
  for (auto* part : {stallKernels, predicateKernels, overwriteKernels, uniformOverwriteKernels})
    for (LatencyKernel& kernel : part(target))
      kernels.push_back(std::move(kernel));
  return kernels;
}

std::string withGap(const std::string& text, unsigned cycles) {
  constexpr unsigned kMax = 15, kLongestYield = 11; // longer stalls only exist without the yield bit
  std::string code;
  for (bool isFirst = true; isFirst || cycles != 0; isFirst = false) {
    const unsigned part = std::min(cycles, kMax);
    code += fmt::format("  {} {{stall={}{}}};\n", isFirst ? text : "NOP", part, part <= kLongestYield ? " yield" : "");
    cycles -= part;
  }
  return code;
}

std::string measuringModule(const isa::Target& target, const MeasuredCode& code) {
  const unsigned params = target.paramBase();
  std::string text =
      fmt::format(R"(module {} ptx 8 5;
kernel "k" {{
  param "out" offset 0 size 8;
  param "cycles" offset 8 size 8;
  param "memory" offset 16 size 8;
  param "zero" offset 24 size 4;
  parambytes 28;
  shared 4096 align 1024;
  stats 90 18 1 1 0 0 0;
  allocated;
.L0:
  S2R R2, SR_TID.X {{stall=2 wr=0}};
  LDC.64 R0:2, bank[0][{:#x}] {{stall=2 wr=1}};
  LDC.64 R4:2, bank[0][{:#x}] {{stall=2 wr=1}};
  LDC.64 R6:2, bank[0][{:#x}] {{stall=2 wr=1}};
  ULDC<5> UR4:2, c[0x0][{:#x}]:2 {{stall=15}};
  MOV R8, {} {{stall=15}};
  MOV R16, 1 {{stall=15}};
  MOV R17, 0 {{stall=15}};
  IMAD.WIDE.U32 R0:2, R2, 4, R0:2 {{stall=15 wait=0x3}};
  IMAD.WIDE.U32 R4:2, R2, 8, R4:2 {{stall=15}};
  IMAD.WIDE.U32 R6:2, R2, 8, R6:2 {{stall=15}};
)",
                  target.name(), params, params + 8, params + 16, *target.globalDescriptorOffset(), kPasses);
  text += code.setup;
  text += R"(.L1:
  CS2R.32 R10, SR_CLOCKLO {stall=15};
  CS2R.32 R11, SR_CLOCKLO {stall=15};
  IADD3 R11, R11, -R10, RZ {stall=15};
  CS2R.32 R10, SR_CLOCKLO {stall=15};
)";
  text += code.body;
  text +=
      fmt::format("  CS2R.32 R12, SR_CLOCKLO {{stall=15 {}}};\n  IADD3 R12, R12, -R10, RZ {{stall=15}};\n", code.wait);
  text += code.after;
  text += R"(  IADD3 R8, R8, -1, RZ {stall=15};
  ISETP.NE.AND P6, PT, R8, RZ, PT {stall=15};
  @P6 BRA .L1 {stall=15};
  -> .L2;
.L2:
)";
  text += code.finish;
  text += fmt::format("  STG.E desc[UR4:2][R0:2], {} {{stall=2}};\n  STG.E desc[UR4:2][R4:2], R11 {{stall=2}};\n"
                      "  STG.E desc[UR4:2][R4:2+4], R12 {{stall=2}};\n  EXIT {{stall=5}};\n}}\n",
                      code.result);
  return text;
}

launch::Launch measuringLaunch(std::uint64_t memoryBytes, unsigned threads) {
  using launch::ElementType;
  launch::Launch launch;
  launch.kernel = "k";
  launch.grid = {1, 1, 1};
  launch.block = {threads, 1, 1};
  const auto add = [&](const char* name, ElementType type, std::uint64_t elements) {
    launch::Buffer buffer;
    buffer.name = name;
    buffer.type = type;
    buffer.elements = elements;
    launch::Argument argument;
    argument.buffer = static_cast<int>(launch.buffers.size());
    launch.buffers.push_back(std::move(buffer));
    launch.arguments.push_back(std::move(argument));
  };
  add("out", ElementType::U32, threads);
  add("cycles", ElementType::U32, 2 * threads);
  add("memory", ElementType::U64, memoryBytes / 8);
  launch::Argument zero;
  zero.bytes.resize(4);
  launch.arguments.push_back(std::move(zero));
  return launch;
}

} // namespace orias::gpu

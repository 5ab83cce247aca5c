#include "test/gpu/latency_kernels.h"

#include <array>
#include <fmt/format.h>

// Late reads of the uniform datapath: a register or predicate is read, and a number of cycles later a faster
// instruction writes it.

namespace orias::gpu {

namespace {

using isa::File;
using isa::LatencyClass;

struct Pair {
  const char* name;
  File file;
  LatencyClass reader, writer;
  const char* before; ///< writes the old value
  const char* read;   ///< UR8 is UR6, 4, from the old value, and UR7, 8, from the new one
  const char* write;  ///< writes the new value
};

// P0 is false, P1 is true.
constexpr std::array kPairs = {
    Pair{"USEL reads -> VOTEU", File::UP, LatencyClass::Udp, LatencyClass::Voteu, "VOTEU.ANY URZ, UP0, P1",
         "USEL UR8, UR6, UR7, UP0", "VOTEU.ANY URZ, UP0, P0"},
    Pair{"UIADD3 reads -> UMOV", File::UR, LatencyClass::Udp, LatencyClass::Umov, "UMOV UR9, 0x4",
         "UIADD3 UR8, UR9, URZ, URZ", "UMOV UR9, 0x8"},
    Pair{"IADD3 reads -> UMOV", File::UR, LatencyClass::Alu, LatencyClass::Umov, "UMOV UR9, 0x4",
         "IADD3 R22, RZ, UR9, RZ", "UMOV UR9, 0x8"},
};

constexpr unsigned kSteps = 8, kBeyond = 3;

std::string stepOf(const Pair& pair, unsigned gap) {
  std::string text = fmt::format("  {} {};\n", pair.before, kSafe);
  text += withGap(pair.read, gap);
  text += fmt::format("  {} {};\n", pair.write, kSafe);
  if (pair.reader == LatencyClass::Udp) text += fmt::format("  MOV R22, UR8 {};\n", kSafe);
  return text + fmt::format("  IADD3 R20, R20, R22, RZ {};\n", kSafe);
}

} // namespace

std::vector<LatencyKernel> uniformOverwriteKernels(const isa::Target& target) {
  std::vector<LatencyKernel> kernels;
  for (const Pair& pair : kPairs) {
    const unsigned table = target.warLatency(pair.file, {pair.reader}, {pair.writer}).cycles;
    for (unsigned gap = 1; gap <= table + kBeyond; ++gap) {
      MeasuredCode code;
      code.setup = "  MOV R20, 0 {stall=15};\n  UMOV UR6, 0x4 {stall=15};\n  UMOV UR7, 0x8 {stall=15};\n"
                   "  ISETP.NE.AND P0, PT, RZ, RZ, PT {stall=15};\n  ISETP.EQ.AND P1, PT, RZ, RZ, PT {stall=15};\n";
      for (unsigned i = 0; i < kSteps; ++i)
        code.body += stepOf(pair, gap);
      code.result = "R20";
      kernels.push_back({fmt::format("{} @{}", pair.name, gap),
                         measuringModule(target, code),
                         measuringLaunch(256),
                         {pair.name, Probe::Kind::Stall, gap, table, kSteps}});
    }
  }
  return kernels;
}

} // namespace orias::gpu

#include "test/gpu/latency_kernels.h"

#include <array>
#include <fmt/format.h>

// Pairs through predicates: A compares a number that alternates between 0 and 1. B adds another number if the predicate
// is true. That number grows, so the sum shows which predicate B has read.

namespace orias::gpu {

namespace {

using isa::LatencyClass;
using Port = isa::Access::Port;

struct Writer {
  const char* name;
  LatencyClass latencyClass;
  const char* text; ///< P0 = R32 != 0; R33 is 0; P1 is P0's value from another source
};
constexpr std::array kWriters = {
    Writer{"ISETP", LatencyClass::Alu, "ISETP.NE.AND P0, PT, R32, RZ, PT"},
    Writer{"FSETP", LatencyClass::Alu, "FSETP.NEU.AND P0, PT, R32, RZ, PT"},
    Writer{"HSETP2", LatencyClass::Fp16Alu, "HSETP2.NEU.AND P0, PT, R32, RZ, PT"},
    Writer{"DSETP", LatencyClass::Fp64, "DSETP.NEU.AND P0, PT, R32:2, RZ, PT"},
    Writer{"PLOP3", LatencyClass::PredLogic, "PLOP3.LUT P0, PT, P1, PT, PT, 0x80, 0x0"},
};

struct Reader {
  const char* name;
  LatencyClass latencyClass;
  Port port;
  const char* text; ///< R36 is R35 or 0
};
constexpr std::array kReaders = {
    Reader{"guard", LatencyClass::Alu, Port::Guard, "@P0 MOV R36, R35"},
    Reader{"SEL", LatencyClass::Alu, Port::Main, "SEL R36, R35, RZ, P0"},
    Reader{"FSEL", LatencyClass::Alu, Port::Main, "FSEL R36, R35, RZ, P0"},
};

constexpr unsigned kSteps = 8;

std::string stepOf(const Writer& a, const Reader& b, unsigned gap) {
  std::string text = "  IADD3 R32, -R32, R16, RZ {stall=15};\n  MOV R36, 0 {stall=15};\n"
                     "  ISETP.NE.AND P1, PT, R32, RZ, PT {stall=15};\n";
  text += withGap(a.text, gap);
  text += fmt::format("  {} {};\n", b.text, kSafe);
  return text + "  IADD3 R34, R34, R36, RZ {stall=15};\n  IADD3 R35, R35, R16, RZ {stall=15};\n";
}

} // namespace

std::vector<LatencyKernel> predicateKernels(const isa::Target& target) {
  constexpr unsigned kBeyond = 3;
  std::vector<LatencyKernel> kernels;
  for (const Writer& a : kWriters)
    for (const Reader& b : kReaders) {
      const unsigned table =
          target.rawLatency(isa::File::P, {a.latencyClass, Port::Main}, {b.latencyClass, b.port}).cycles;
      for (unsigned gap = target.minStall(a.latencyClass); gap <= table + kBeyond; ++gap) {
        MeasuredCode code;
        code.setup = "  MOV R32, 0 {stall=15};\n  MOV R33, 0 {stall=15};\n  MOV R34, 0 {stall=15};\n"
                     "  MOV R35, 3 {stall=15};\n  ISETP.NE.AND P0, PT, RZ, RZ, PT {stall=15};\n";
        for (unsigned i = 0; i < kSteps; ++i)
          code.body += stepOf(a, b, gap);
        code.result = "R34";
        const std::string what = fmt::format("{} -> {}", a.name, b.name);
        kernels.push_back({fmt::format("{} @{}", what, gap),
                           measuringModule(target, code),
                           measuringLaunch(256),
                           {what, Probe::Kind::Stall, gap, table, kSteps}});
      }
    }
  return kernels;
}

} // namespace orias::gpu

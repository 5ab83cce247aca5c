#include "encoder/isa/desc.h"
#include "test/gpu/latency_kernels.h"

#include <array>
#include <fmt/format.h>

// Late reads: several instructions of one kind are issued in sequence, and the source register of the last one is
// overwritten a number of cycles after it, without a wait for a scoreboard. A unit that reads its registers from a
// queue then reads the new value.

namespace orias::gpu {

namespace {

/// {d} and {s} are numbers of registers.
struct Reader {
  const char* name; ///< also of the row of the instruction table
  const char* text;
  unsigned width = 1;     ///< registers read
  bool needsWait = false; ///< a scoreboard signals the result
  const char* oldValue = "0x4";
  const char* newValue = "0x8";
};

constexpr const char* kOne = "0x3f800000";
constexpr const char* kTwo = "0x40000000";

constexpr std::array kReaders = {
    Reader{"IADD3", "IADD3 R{d}, R{s}, RZ, RZ"},
    Reader{"IMAD", "IMAD R{d}, R{s}, R16, RZ"},
    Reader{"IMAD_WIDE", "IMAD.WIDE.U32 R{d}:2, R{s}, R16, RZ:2"},
    Reader{"FADD", "FADD R{d}, R{s}, RZ", 1, false, kOne, kTwo},
    Reader{"DADD", "DADD R{d}:2, R{s}:2, RZ:2", 2, false, kOne, kTwo},
    Reader{"BREV", "BREV R{d}, R{s}", 1, true},
    Reader{"POPC", "POPC R{d}, R{s}", 1, true, "0x7", "0xffff"},
    Reader{"FLO", "FLO.U32 R{d}, R{s}", 1, true},
    Reader{"MUFU", "MUFU.RCP R{d}, R{s}", 1, true, kOne, kTwo},
    Reader{"F2I", "F2I.TRUNC.NTZ R{d}, R{s}", 1, true, kOne, kTwo},
    Reader{"LDC", "LDC R{d}, bank[0][R{s}]", 1, true, "0x0", "0x4"},
    Reader{"SHFL", "SHFL.BFLY PT, R{d}, R{s}, 0x0, 0x1f", 1, true},
    Reader{"LDS", "LDS R{d}, [R{s}]", 1, true, "0x404", "0x408"},
};

constexpr unsigned kCount = 8, kSources = 32, kResults = 56, kLongest = 20;

std::string textOf(const Reader& reader, unsigned i) {
  return fmt::format(fmt::runtime(reader.text), fmt::arg("d", kResults + 2 * i), fmt::arg("s", kSources + 2 * i));
}

MeasuredCode codeOf(const Reader& reader, unsigned gap) {
  MeasuredCode code;
  const unsigned value = reader.width - 1; // the upper half of a pair
  for (unsigned reg = kSources; reg < kResults + 2 * kCount; ++reg)
    code.setup += fmt::format("  MOV R{}, 0 {{stall=15}};\n", reg);
  // Two words of shared memory are different.
  code.setup +=
      "  MOV R18, 0x404 {stall=15};\n  MOV R19, 0x408 {stall=15};\n"
      "  STS [R18], R18 {stall=15 rd=0};\n  STS [R19], R19 {stall=15 rd=0};\n  MOV R20, 0 {stall=15 wait=0x1};\n";
  for (unsigned i = 0; i < kCount; ++i)
    code.body += fmt::format("  MOV R{}, {} {{stall=15}};\n", kSources + 2 * i + value, reader.oldValue);
  for (unsigned i = 0; i < kCount; ++i) {
    const bool isLast = i + 1 == kCount;
    if (reader.needsWait)
      code.body += fmt::format("  {} {{stall={} wr=2}};\n", textOf(reader, i), isLast ? gap : 1);
    else
      code.body += withGap(textOf(reader, i), isLast ? gap : 4);
  }
  code.body += fmt::format("  MOV R{}, {} {{stall=15}};\n  NOP {{stall=15}};\n", kSources + 2 * (kCount - 1) + value,
                           reader.newValue);
  code.body += fmt::format("  NOP {{stall=15{}}};\n", reader.needsWait ? " wait=0x4" : "");
  for (unsigned i = 0; i < kCount; ++i)
    code.body += fmt::format("  IADD3 R20, R20, R{}, RZ {{stall=15}};\n", kResults + 2 * i + value);
  code.result = "R20";
  return code;
}

} // namespace

std::vector<LatencyKernel> overwriteKernels(const isa::Target& target) {
  std::vector<LatencyKernel> kernels;
  for (const Reader& reader : kReaders) {
    const isa::InstrDesc* row = isa::findByName(reader.name);
    const isa::Access reads{row->latencyClass, isa::Access::Port::Main};
    // With a scoreboard any number of cycles is sufficient.
    const unsigned table =
        reader.needsWait
            ? kLongest
            : target.warLatency(isa::File::R, reads, {isa::LatencyClass::Alu, isa::Access::Port::Main}).cycles;
    for (unsigned gap = 1; gap <= (reader.needsWait ? 15 : table + 3); ++gap) {
      const std::string what = fmt::format("{} reads -> overwritten", reader.name);
      kernels.push_back({fmt::format("{} @{}", what, gap),
                         measuringModule(target, codeOf(reader, gap)),
                         measuringLaunch(256),
                         {what, Probe::Kind::Stall, gap, table, kCount}});
    }
  }
  return kernels;
}

} // namespace orias::gpu

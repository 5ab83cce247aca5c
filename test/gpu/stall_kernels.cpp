#include "test/gpu/latency_kernels.h"

#include <array>
#include <fmt/format.h>
#include <optional>

// Pairs of instructions of fixed latency: B reads the result of A a number of cycles later. A value passes through a
// ring of A, B and an addition of 1, with long stalls except after A. Each instruction returns its operand, or its
// operand plus 1 (such small numbers are subnormal floats, whose sums are exact). A ring that reads an old value
// therefore ends with another number.

namespace orias::gpu {

namespace {

using isa::File;
using isa::LatencyClass;
using Port = isa::Access::Port;

/// An instruction of a ring. {d} and {s} are numbers of registers. A wide operand is aligned to its width. The value is
/// in its first or second register, and the others are 0.
struct Link {
  const char* name;
  LatencyClass latencyClass;
  const char* text;
  unsigned inWidth = 1, outWidth = 1;
  bool inHigh = false, outHigh = false;
  Port in = Port::Main, out = Port::Main;
  File inFile = File::R, outFile = File::R;
  bool isFloat = false;       ///< the value is a normal float: products of matrices may flush others
  bool needsResult = false;   ///< scoreboard 2 signals the result
  const char* back = nullptr; ///< converts the result back to the value if it has another format
};

constexpr std::array kLinks = {
    Link{"IADD3", LatencyClass::Alu, "IADD3 R{d}, R{s}, R16, RZ"},
    Link{"FADD", LatencyClass::Fma, "FADD R{d}, R{s}, R16"},
    Link{"IMAD", LatencyClass::Imad, "IMAD R{d}, R{s}, R16, R16"},
    Link{"IMAD.WIDE", LatencyClass::ImadWide, "IMAD.WIDE.U32 R{d}:2, R{s}, R16, R16:2", 1, 2},
    Link{"IMAD.WIDE (addend)", LatencyClass::ImadWide, "IMAD.WIDE.U32 R{d}:2, R16, R16, R{s}:2", 2, 2, false, false,
         Port::Addend},
    Link{"IMAD.WIDE (high)", LatencyClass::ImadWide, "IMAD.WIDE.U32 R{d}:2, R18, R18, R{s}:2", 2, 2, true, true,
         Port::High, Port::High},
    Link{"HADD2", LatencyClass::Fp16, "HADD2 R{d}, R{s}, R16"},
    Link{"HMNMX2", LatencyClass::Fp16Alu, "HMNMX2 R{d}, R{s}, R19, PT"},
    Link{"HADD2.F32", LatencyClass::Fp16Alu, "HADD2.F32 R{d}, -RZ, R{s}.H0_H0", 1, 1, false, false, Port::Main,
         Port::Main, File::R, File::R, false, false, "F2FP.F16.F32.PACK_AB R{d}, RZ, R{s}"},
    Link{"DADD", LatencyClass::Fp64, "DADD R{d}:2, R{s}:2, R16:2", 2, 2},
    Link{"IMMA", LatencyClass::Imma, "IMMA.16832.S8.S8 R{d}:4, R24:4, R28:2, R{s}:4", 4, 4},
    Link{"HMMA", LatencyClass::Hmma, "HMMA.16816.F32 R{d}:4, R24:4, R28:2, R{s}:4", 4, 4, false, false, Port::Main,
         Port::Main, File::R, File::R, true},
    Link{"HMMA.1688", LatencyClass::MmaShort, "HMMA.1688.F32 R{d}:4, R24:2, R28, R{s}:4", 4, 4, false, false,
         Port::Main, Port::Main, File::R, File::R, true},
    Link{"FADD (float)", LatencyClass::Fma, "FADD R{d}, R{s}, R16", 1, 1, false, false, Port::Main, Port::Main, File::R,
         File::R, true},
    Link{"MOV (float)", LatencyClass::Alu, "MOV R{d}, R{s}", 1, 1, false, false, Port::Main, Port::Main, File::R,
         File::R, true},
    Link{"UIADD3", LatencyClass::Udp, "UIADD3 UR{d}, UR{s}, 0x1, URZ", 1, 1, false, false, Port::Main, Port::Main,
         File::UR, File::UR},
    Link{"UMOV", LatencyClass::Umov, "UMOV UR{d}, UR{s}", 1, 1, false, false, Port::Main, Port::Main, File::UR,
         File::UR},
    Link{"R2UR", LatencyClass::R2ur, "R2UR UR{d}, R{s}", 1, 1, false, false, Port::Main, Port::Main, File::R, File::UR},
    Link{"IADD3 (UR)", LatencyClass::Alu, "IADD3 R{d}, RZ, UR{s}, RZ", 1, 1, false, false, Port::Main, Port::Main,
         File::UR, File::R},
    Link{"FADD (UR)", LatencyClass::Fma, "FADD R{d}, R16, UR{s}", 1, 1, false, false, Port::Main, Port::Main, File::UR,
         File::R},
    Link{"IMAD (UR)", LatencyClass::Imad, "IMAD R{d}, R16, UR{s}, RZ", 1, 1, false, false, Port::Main, Port::Main,
         File::UR, File::R},
    Link{"BREV", LatencyClass::Xu, "BREV R{d}, R{s}", 1, 1, false, false, Port::Main, Port::Main, File::R, File::R,
         false, true},
    Link{"SHFL", LatencyClass::Shuffle, "SHFL.BFLY PT, R{d}, R{s}, 0x0, 0x1f", 1, 1, false, false, Port::Main,
         Port::Main, File::R, File::R, false, true},
};

constexpr unsigned kSteps = 8;
constexpr unsigned kLongest = 45; ///< cycles: more than any fixed latency
/// Registers of the ring: the source of A, the source of B, and the result of B; in R and in UR.
constexpr unsigned kFirst = 32, kMiddle = 36, kLast = 40, kUniformFirst = 8, kUniformMiddle = 10, kUniformLast = 12;

std::string textOf(const Link& link, unsigned d, unsigned s) {
  return fmt::format(fmt::runtime(link.text), fmt::arg("d", d), fmt::arg("s", s));
}

/// The registers between two links: the base that the first writes, the value in it, and the base that the second
/// reads.
struct Joint {
  unsigned writes, value, reads;
};

std::optional<Joint> join(const Link& a, const Link& b, unsigned base) {
  if (a.outWidth > 1 && b.inWidth > 1) {
    if (a.outHigh != b.inHigh || a.outWidth < b.inWidth) return std::nullopt;
    return Joint{base, base + a.outHigh, base};
  }
  if (b.inWidth > 1) return Joint{base + b.inHigh, base + b.inHigh, base};
  return Joint{base, base + a.outHigh, base + a.outHigh};
}

std::optional<std::string> ringOf(const Link& a, const Link& b, unsigned gap) {
  if (a.outFile != b.inFile || a.isFloat != b.isFloat || a.needsResult || a.back) return std::nullopt;
  // Floats are only for matrix products.
  if (a.isFloat && a.outWidth == 1 && b.inWidth == 1) return std::nullopt;
  const bool isUniform = a.outFile == File::UR;
  const std::optional<Joint> middle = join(a, b, isUniform ? kUniformMiddle : kMiddle);
  if (!middle) return std::nullopt;
  const unsigned last = b.outFile == File::UR ? kUniformLast : kLast;
  const unsigned back = kFirst + a.inHigh; // the register that A reads
  std::string ring = withGap(textOf(a, middle->writes, a.inFile == File::UR ? kUniformFirst : kFirst), gap);
  if (b.needsResult) {
    ring += fmt::format("  {} {{stall=2 wr=2}};\n", textOf(b, last, middle->reads));
    // Reversing twice restores the value.
    if (b.latencyClass == LatencyClass::Xu) ring += fmt::format("  BREV R{0}, R{0} {{stall=2 wr=2 wait=0x4}};\n", last);
  } else {
    ring += withGap(textOf(b, last, middle->reads), kLongest);
  }
  if (b.back) ring += withGap(fmt::format(fmt::runtime(b.back), fmt::arg("d", last), fmt::arg("s", last)), kLongest);
  const char* wait = b.needsResult ? " wait=0x4" : "";
  if (b.outFile == File::UR)
    ring += fmt::format("  IADD3 R{}, R16, UR{}, RZ {{stall=15}};\n", back, last);
  else
    ring += fmt::format("  {} R{}, R{}, R16{} {{stall=15{}}};\n", a.isFloat ? "FADD" : "IADD3", back, last + b.outHigh,
                        a.isFloat ? "" : ", RZ", wait);
  if (a.inFile == File::UR) ring += fmt::format("  R2UR UR{}, R{} {{stall=15}};\n", kUniformFirst, back);
  return ring;
}

std::string setupOf(const Link& a) {
  std::string text;
  // Both factors of matrix products are zero.
  for (unsigned reg = 24; reg < 44; ++reg)
    text += fmt::format("  MOV R{}, 0 {{stall=15}};\n", reg);
  text += "  MOV R18, 65536 {stall=15};\n  MOV R19, 0x7bff7bff {stall=15};\n";
  if (a.isFloat) text += "  MOV R16, 0x3f800000 {stall=15};\n";
  text += fmt::format("  MOV R{}, {} {{stall=15}};\n", kFirst + a.inHigh, a.isFloat ? "0x40a00000" : "5");
  for (const unsigned reg : {kUniformFirst, kUniformMiddle, kUniformLast})
    text += fmt::format("  UMOV UR{}, 0 {{stall=15}};\n", reg);
  if (a.inFile == File::UR) text += fmt::format("  R2UR UR{}, R{} {{stall=15}};\n", kUniformFirst, kFirst);
  return text;
}

} // namespace

std::vector<LatencyKernel> stallKernels(const isa::Target& target) {
  constexpr unsigned kBeyond = 3; // cycles above the table's, in case they are too few
  std::vector<LatencyKernel> kernels;
  for (const Link& a : kLinks)
    for (const Link& b : kLinks) {
      if (!ringOf(a, b, 1)) continue;
      const unsigned table = target.rawLatency(a.outFile, {a.latencyClass, a.out}, {b.latencyClass, b.in}).cycles;
      for (unsigned gap = target.minStall(a.latencyClass); gap <= table + kBeyond; ++gap) {
        MeasuredCode code;
        code.setup = setupOf(a);
        for (unsigned i = 0; i < kSteps; ++i)
          code.body += *ringOf(a, b, gap);
        code.result = fmt::format("R{}", kFirst + a.inHigh);
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

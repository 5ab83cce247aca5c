#include "test/gpu/latency_kernels.h"

#include <array>
#include <cstring>
#include <fmt/format.h>

// Chains of dependent instructions of variable latency, which wait for each other's scoreboard, and rows of independent
// instructions. The value of a chain never changes.

namespace orias::gpu {

namespace {

using isa::LatencyClass;

constexpr unsigned kSteps = 16;
/// Larger than the last-level cache of the chips, so that its start is evicted when all of it has been written.
constexpr std::uint64_t kLargeBytes = std::uint64_t{96} << 20;

struct Chain {
  const char* what;
  LatencyClass latencyClass;
  const char* setup;
  const char* step;
  const char* result = "R32";
  const char* finish = "";
  std::uint64_t memoryBytes = 256;
  bool pointsToItself = false; ///< each 8 bytes of the memory contain their own address
  unsigned threads = 32;
  const char* before = ""; ///< in the loop, before the steps
  const char* behind = ""; ///< in the loop, after the steps, instead of a wait for scoreboard 0
};

constexpr const char* kWaits = " {stall=2 yield wr=0 wait=0x1};\n";
constexpr const char* kOwnAddress = "  MOV R32, R6 {stall=15};\n  MOV R33, R7 {stall=15};\n";
constexpr const char* kDistance = "  IADD3 R32, R32, -R6, RZ {stall=15};\n";

constexpr std::array kChains = {
    Chain{"LDG.64 (L1 hit)", LatencyClass::Load, kOwnAddress, "LDG.E.64 R32:2, desc[UR4:2][R32:2]", "R32", kDistance,
          256, true},
    Chain{"LDG.64 (L2 hit)", LatencyClass::Load, kOwnAddress, "LDG.E.64.STRONG.GPU R32:2, desc[UR4:2][R32:2]", "R32",
          kDistance, 256, true},
    Chain{"LDG (L2 miss) + IADD3 + IMAD.WIDE", LatencyClass::Load,
          "  MOV R32, R6 {stall=15};\n  MOV R33, R7 {stall=15};\n  MOV R36, 0xc0080 {stall=15};\n",
          "LDG.E R34, desc[UR4:2][R32:2] {stall=2 yield wr=0};\n"
          "  IADD3 R35, R34, R36, RZ {stall=5 wait=0x1};\n  IMAD.WIDE.U32 R32:2, R35, R16, R32:2 {stall=6};\n",
          "R34", "", kLargeBytes},
    Chain{"LDS", LatencyClass::SharedLoad,
          "  IMAD R32, R2, 4, RZ {stall=15};\n  IADD3 R32, R32, 0x400, RZ {stall=15};\n"
          "  STS [R32], R32 {stall=15 rd=1};\n  NOP {stall=15 wait=0x2};\n",
          "LDS R32, [R32]"},
    Chain{"LDC", LatencyClass::ConstLoad, "  MOV R32, 0 {stall=15};\n", "LDC R32, bank[0][R32+%]"},
    Chain{"MUFU.RCP", LatencyClass::Xu, "  MOV R32, 1.0f {stall=15};\n", "MUFU.RCP R32, R32"},
    Chain{"BREV", LatencyClass::Xu, "  MOV R32, 5 {stall=15};\n", "BREV R32, R32"},
    Chain{"POPC", LatencyClass::Xu, "  MOV R32, 5 {stall=15};\n", "POPC R32, R32"},
    Chain{"SHFL.IDX", LatencyClass::Shuffle, "  MOV R32, 0 {stall=15};\n", "SHFL.IDX PT, R32, R32, R32, 0x1f"},
    Chain{"MATCH.ANY", LatencyClass::Match, "  MOV R32, R2 {stall=15};\n", "MATCH.ANY R32, R32"},
    Chain{"ATOMS.ADD", LatencyClass::SharedAtomic,
          "  IMAD R34, R2, 4, RZ {stall=15};\n  IADD3 R34, R34, 0x400, RZ {stall=15};\n"
          "  STS [R34], RZ {stall=15 rd=1};\n  NOP {stall=15 wait=0x2};\n  MOV R32, 0 {stall=15};\n",
          "ATOMS.ADD R32, [R34], R32"},
    Chain{"ATOMG.ADD", LatencyClass::Atomic, "  MOV R32, 0 {stall=15};\n",
          "ATOMG.E.ADD.STRONG.GPU PT, R32, desc[UR4:2][R6:2], R32"},
    Chain{"REDUX + MOV", LatencyClass::S2ur, "  MOV R32, R2 {stall=15};\n",
          "REDUX.OR UR8, R32 {stall=2 yield wr=0};\n  MOV R32, UR8 {stall=5 wait=0x1};\n"},
    Chain{"DMMA", LatencyClass::Dmma,
          "  CS2R R32:2, SRZ {stall=15};\n  CS2R R34:2, SRZ {stall=15};\n  CS2R R40:2, SRZ {stall=15};\n"
          "  CS2R R42:2, SRZ {stall=15};\n",
          "DMMA.8x8x4 R32:4, R40:2, R42:2, R32:4"},
    // Both factors are zeros in shared memory. Their descriptors contain addresses in units of 16 bytes.
    Chain{"HGMMA.64x8x16.F32 (same accumulator)", LatencyClass::Gmma,
          "  CS2R R32:2, SRZ {stall=15};\n  CS2R R34:2, SRZ {stall=15};\n"
          "  IMAD R36, R2, 16, RZ {stall=15};\n  IADD3 R36, R36, 0x400, RZ {stall=15};\n"
          "  STS.128 [R36], R32:4 {stall=2 rd=0};\n  MEMBAR.ALL.GPU {stall=6 yield rd=5};\n"
          "  FENCE.VIEW.ASYNC.S {stall=6 yield wr=5 wait=0x20};\n  BAR_SYNC<1> 0 {stall=6 yield wait=0x21};\n"
          "  UMOV UR12, 0x40 {stall=15};\n  UMOV UR13, 0 {stall=15};\n  UMOV UR14, 0x40 {stall=15};\n"
          "  UMOV UR15, 0 {stall=15};\n",
          "HGMMA<0,1,0,0,0,0,0> R32:4, gdesc[UR12:4], R32:4, 0 {stall=4};\n", "R32", "", 1024, false, 128,
          "  WARPGROUP.ARRIVE {stall=6 yield};\n", "  WARPGROUP.DEPBAR.LE 0, 0 {stall=6 yield};\n"},
};

/// {d} is the first of four registers of each step.
struct Row {
  const char* what;
  LatencyClass latencyClass;
  const char* text;
};
constexpr std::array kRows = {
    Row{"IADD3", LatencyClass::Alu, "IADD3 R{d}, R16, R16, RZ"},
    Row{"FADD", LatencyClass::Fma, "FADD R{d}, R16, R16"},
    Row{"IMAD", LatencyClass::Imad, "IMAD R{d}, R16, R16, R16"},
    Row{"IMAD.WIDE", LatencyClass::ImadWide, "IMAD.WIDE.U32 R{d}:2, R16, R16, R16:2"},
    Row{"HADD2", LatencyClass::Fp16, "HADD2 R{d}, R16, R16"},
    Row{"DADD", LatencyClass::Fp64, "DADD R{d}:2, R16:2, R16:2"},
    Row{"UIADD3", LatencyClass::Udp, "UIADD3 UR8, UR6, 0x1, URZ"},
    Row{"HMMA.16816.F32", LatencyClass::Hmma, "HMMA.16816.F32 R{d}:4, R20:4, R18:2, R20:4"},
    Row{"IMMA.16832", LatencyClass::Imma, "IMMA.16832.S8.S8 R{d}:4, R20:4, R18:2, R20:4"},
    Row{"MUFU.RCP", LatencyClass::Xu, "MUFU.RCP R{d}, R16"},
    Row{"FFMA", LatencyClass::Fma, "FFMA R{d}, R16, R16, R16"},
    Row{"MOV", LatencyClass::Alu, "MOV R{d}, R16"},
    Row{"F2I", LatencyClass::Xu, "F2I.TRUNC.NTZ R{d}, R16"},
    Row{"POPC", LatencyClass::Xu, "POPC R{d}, R16"},
    Row{"FLO", LatencyClass::Xu, "FLO.U32 R{d}, R16"},
    Row{"BREV", LatencyClass::Xu, "BREV R{d}, R16"},
    Row{"LDC", LatencyClass::ConstLoad, "LDC R{d}, bank[0][RZ]"},
    Row{"LDS.128", LatencyClass::SharedLoad, "LDS.128 R{d}:4, [R18]"},
    Row{"SHFL.IDX", LatencyClass::Shuffle, "SHFL.IDX PT, R{d}, R16, R2, 0x1f"},
    Row{"LDS", LatencyClass::SharedLoad, "LDS R{d}, [R18]"},
    Row{"LDG (L1 hit)", LatencyClass::Load, "LDG.E R{d}, desc[UR4:2][R6:2]"},
};

LatencyKernel kernelOf(const isa::Target& target, const Chain& chain) {
  std::string step = chain.step;
  if (const std::size_t at = step.find('%'); at != std::string::npos)
    step.replace(at, 1, fmt::format("{:#x}", target.paramBase() + 24)); // the parameter "zero"
  MeasuredCode code;
  code.setup = chain.setup;
  code.body = chain.before;
  for (unsigned i = 0; i < kSteps; ++i)
    code.body += "  " + step + (step.find('{') == std::string::npos ? kWaits : "");
  code.body += chain.behind;
  code.wait = "wait=0x1";
  code.result = chain.result;
  code.finish = chain.finish;
  LatencyKernel kernel{chain.what,
                       measuringModule(target, code),
                       measuringLaunch(chain.memoryBytes, chain.threads),
                       {chain.what, Probe::Kind::Latency, 0, target.expectedLatency(chain.latencyClass), kSteps}};
  if (chain.pointsToItself) {
    launch::Buffer& memory = kernel.launch.buffers[2];
    memory.initial.resize(chain.memoryBytes);
    for (std::uint64_t at = 0; at < chain.memoryBytes; at += 8)
      memory.pointers.push_back({at, 2, static_cast<std::int64_t>(at)});
  }
  return kernel;
}

LatencyKernel kernelOf(const isa::Target& target, const Row& row) {
  MeasuredCode code;
  code.setup = "  MOV R18, 0x400 {stall=15};\n  MOV R19, 0 {stall=15};\n  UMOV UR6, 0 {stall=15};\n"
               "  STS [R18], RZ {stall=15 rd=1};\n  NOP {stall=15 wait=0x2};\n";
  for (unsigned reg = 20; reg < 24; ++reg)
    code.setup += fmt::format("  MOV R{}, 0 {{stall=15}};\n", reg);
  const bool isVariable = target.isScoreboarded(row.latencyClass);
  for (unsigned i = 0; i < kSteps; ++i)
    code.body += fmt::format("  {} {{stall=1 yield{}}};\n",
                             fmt::format(fmt::runtime(row.text), fmt::arg("d", 24 + 4 * i)), isVariable ? " wr=0" : "");
  code.after =
      fmt::format("  NOP {{stall=15{}}};\n  NOP {{stall=15}};\n  NOP {{stall=15}};\n", isVariable ? " wait=0x1" : "");
  code.result = std::strncmp(row.text, "UIADD3", 6) == 0 ? "R16" : "R24";
  return {fmt::format("row of {}", row.what),
          measuringModule(target, code),
          measuringLaunch(256),
          {row.what, Probe::Kind::Issue, 1, target.issueCycles(row.latencyClass), kSteps}};
}

} // namespace

std::vector<LatencyKernel> chainKernels(const isa::Target& target) {
  std::vector<LatencyKernel> kernels;
  for (const Chain& chain : kChains)
    kernels.push_back(kernelOf(target, chain));
  for (const Row& row : kRows)
    kernels.push_back(kernelOf(target, row));
  return kernels;
}

} // namespace orias::gpu

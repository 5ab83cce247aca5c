#include "tools/emulator/issue_cost.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"

#include <algorithm>

namespace orias::emu {

namespace {

using isa::LatencyClass;

/// Cycles until an instruction of a queue has read its sources: 9 to 20 in the measurements of Huerta et al.
/// (README.md), depending on the width of the access.
constexpr unsigned kSourceCycles = 12;
/// A quarter of a multiprocessor produces 4 results of the special functions per cycle (CUDA C++ Programming Guide,
/// table of arithmetic throughput: 16 for each multiprocessor, from 7.5 to 9.0).
constexpr unsigned kXuCycles = 8;
/// 16-bit multiply-adds per cycle of a quarter of a multiprocessor: from NVIDIA's 989 Tflop/s for the 132
/// multiprocessors of an H100 at 1.83 GHz.
constexpr unsigned kProductsPerCycle = 512;
/// The rows of one warp, times the depth of a product in units of 16 bits: 256 bits in each format.
constexpr unsigned kProductsPerColumn = 16 * 16;

unsigned immediate(const isa::Inst& inst, isa::SlotId slot) {
  const int index = isa::desc(inst.op).slotIndex(slot);
  return index < 0 ? 0 : static_cast<unsigned>(inst.operands[static_cast<std::size_t>(index)].imm);
}

/// The tensor core's cycles for the rows of one warp.
unsigned productCycles(const isa::Inst& inst) {
  const isa::InstrDesc& row = isa::desc(inst.op);
  if (inst.operands[0].isZeroReg()) return 1;
  const unsigned words = isa::operandWidth(inst, row.slot(isa::SlotId::Rd));
  const bool sumsAreHalves = row.mnemonic.starts_with("HGMMA") && isa::getMod(inst, isa::Mod::DstFmt) == 0;
  const unsigned columns = words * (sumsAreHalves ? 4 : 2);
  return columns * kProductsPerColumn / kProductsPerCycle;
}

IssueCost costOf(const isa::Inst& inst, const isa::Target& target) {
  const LatencyClass own = isa::latencyClassOf(inst.op, inst.mods);
  IssueCost cost;
  cost.awaited = isa::awaitedScoreboards(inst);
  cost.writeBarrier = inst.control.writeBarrier;
  cost.readBarrier = inst.control.readBarrier;
  cost.pipe = isa::desc(inst.op).pipe;
  cost.stall = inst.control.stall != 0 ? inst.control.stall : target.maxFixedLatency();
  cost.busy = own == LatencyClass::Xu ? kXuCycles : std::max(target.issueCycles(own), 1u);
  cost.latency = target.expectedLatency(own);
  cost.sourceLatency = std::min(kSourceCycles, cost.latency);
  cost.usesMemoryUnit = target.pipe(own) != 0 && target.pipe(own) == target.pipe(LatencyClass::Load);
  switch (inst.op) {
  case isa::Op::DEPBAR_LE:
    cost.kind = IssueCost::Kind::ScoreboardWait;
    cost.scoreboard = static_cast<std::uint8_t>(immediate(inst, isa::SlotId::sb));
    cost.count = static_cast<std::uint8_t>(immediate(inst, isa::SlotId::count));
    break;
  case isa::Op::WARPGROUP_DEPBAR:
    cost.kind = IssueCost::Kind::ProductWait;
    cost.busy = 1;
    cost.count = static_cast<std::uint8_t>(immediate(inst, isa::SlotId::count));
    break;
  case isa::Op::LDGSTS:
    cost.kind = IssueCost::Kind::Copy;
    cost.latency = target.expectedLatency(LatencyClass::Load);
    break;
  case isa::Op::LDGDEPBAR: cost.kind = IssueCost::Kind::CopyGroup; break;
  default:
    if (own != LatencyClass::Gmma) break;
    cost.kind = IssueCost::Kind::Product;
    cost.closesGroup = immediate(inst, isa::SlotId::gsb) == 0;
    cost.busy = productCycles(inst);
    break;
  }
  return cost;
}

} // namespace

std::vector<IssueCost> issueCosts(const Program& program) {
  std::vector<IssueCost> costs;
  for (const Instruction& instruction : program.code)
    costs.push_back(costOf(instruction.inst, *program.target));
  return costs;
}

} // namespace orias::emu

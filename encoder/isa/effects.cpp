#include "encoder/isa/effects.h"

#include <algorithm>

namespace orias::isa {

unsigned minStallOf(const Inst& inst, const Target& target) {
  const unsigned least = target.minStall(latencyClassOf(inst.op, inst.mods));
  const bool isGuardedCall = inst.op == Op::CALL_REL && !inst.guard.isZeroReg();
  return isGuardedCall ? std::min(least, target.minStall(LatencyClass::Bmov)) : least;
}

std::uint8_t awaitedScoreboards(const Inst& inst) {
  const int list = desc(inst.op).slotIndex(isa::SlotId::others);
  const unsigned listed = list < 0 ? 0 : static_cast<unsigned>(inst.operands[static_cast<unsigned>(list)].imm);
  return static_cast<std::uint8_t>(inst.control.waitMask | listed);
}

LatencyClass latencyClassOf(Op op, std::span<const std::uint8_t, kMaxMods> mods) {
  const InstrDesc& row = desc(op);
  switch (row.latencyClass) {
  case LatencyClass::Hmma:
  case LatencyClass::Imma: {
    // The latency of a tensor operation depends on its inner dimension, which determines the registers of A.
    const int a = row.slotIndex(isa::SlotId::Ra);
    const unsigned width = a < 0 ? 4 : operandWidth(op, mods, static_cast<unsigned>(a));
    const LatencyClass half = row.latencyClass == LatencyClass::Imma ? LatencyClass::ImmaShort : LatencyClass::MmaShort;
    return width >= 4 ? row.latencyClass : width == 2 ? half : LatencyClass::MmaTiny;
  }
  case LatencyClass::Cbu:
    // Before sm_90 the next instruction may follow these immediately, as for BMOV (observed: the tables say how often).
    // On sm_90 ptxas keeps 5 cycles after all instructions of the class.
    switch (op) {
    case Op::BREAK:
    case Op::WARPSYNC:
    case Op::WARPSYNC_ALL:
    case Op::YIELD: return LatencyClass::Bmov;
    default: return row.latencyClass;
    }
  default: return row.latencyClass;
  }
}

} // namespace orias::isa

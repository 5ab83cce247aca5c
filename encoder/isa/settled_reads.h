#pragma once

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"

namespace orias::isa {

/// Whether sources that an earlier instruction of class `reader` reads late have been read when an instruction lets the
/// warp go on. On sm_75 a BAR.SYNC passes through the queue that reads them (in the latency file its `done` queue is
/// their `read` queue): behind it ptxas overwrites the sources of STS and STG without a scoreboard. It does not behind
/// BAR.SYNC.DEFER_BLOCKING. BAR.ARV does not hold the warp back.
template <typename I> bool settlesReads(const I& instr, bool isGuarded, LatencyClass reader, const Target& target) {
  const InstrDesc& row = desc(instr.op);
  if (row.latencyClass != LatencyClass::Barrier || isGuarded) return false;
  const unsigned queue = target.completionQueue(LatencyClass::Barrier);
  if (queue == 0 || queue != target.readQueue(reader)) return false;
  return row.modIndex(Mod::Sub) >= 0 && getMod(instr.op, instr.mods, Mod::Sub) == 0;
}

} // namespace orias::isa

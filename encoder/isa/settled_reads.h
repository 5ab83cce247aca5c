#pragma once

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"

namespace orias::isa {

/// Whether the late sources of an earlier instruction of class `reader` have been read when the warp continues after
/// `instr`. On sm_75 a BAR.SYNC passes through the queue that reads them (in the latency file its `done` queue is their
/// `read` queue): after it ptxas overwrites the sources of STS and STG without a scoreboard. It does not do so after
/// BAR.SYNC.DEFER_BLOCKING. BAR.ARV does not block the warp.
template <typename I> bool settlesReads(const I& instr, bool isGuarded, LatencyClass reader, const Target& target) {
  const InstrDesc& row = desc(instr.op);
  if (row.latencyClass != LatencyClass::Barrier || isGuarded) return false;
  const unsigned queue = target.completionQueue(LatencyClass::Barrier);
  if (queue == 0 || queue != target.readQueue(reader)) return false;
  return row.modIndex(Mod::Sub) >= 0 && getMod(instr.op, instr.mods, Mod::Sub) == 0;
}

} // namespace orias::isa

#pragma once

#include "ori/analysis/loops.h"

namespace orias::phases {

/// The source of the only edge into a loop, or kNoId. What leaves the loop goes there, or onto that edge.
inline ori::BlockId onlyEntry(const ori::Loops& loops, const ori::Cfg& cfg, ori::LoopId loop) {
  ori::BlockId found = ori::kNoId;
  const ori::BlockId header = loops.loop(loop).header;
  if (header == cfg.entry()) return ori::kNoId;
  for (ori::BlockId p : cfg.predecessors(header)) {
    if (cfg.isReachable(p) && loops.contains(loop, p)) continue;
    if (found != ori::kNoId) return ori::kNoId;
    found = p;
  }
  return found;
}

} // namespace orias::phases

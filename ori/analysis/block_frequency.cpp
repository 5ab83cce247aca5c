#include "ori/analysis/block_frequency.h"

#include "ori/analysis/analyses.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace orias::ori {

namespace {

constexpr double kIterations = 8;
/// Deeper loops count no more.
constexpr double kMostFrequent = 8. * 8 * 8 * 8 * 8 * 8;

bool fillsLocalArray(const Block& block) {
  for (const Instr& instr : block)
    if (instr.op == isa::Op::STL) return true;
  return false;
}

} // namespace

BlockFrequencies::BlockFrequencies(Function& function) : frequency_(function.blockIdCount(), 0) {
  const Cfg& cfg = function.analyses().cfg();
  const Loops& loops = function.analyses().loops();
  std::vector<double> entries(loops.all().size(), 0); // of a loop, how often it is entered
  std::vector<std::size_t> exits(loops.all().size());
  for (LoopId loop = 0; loop < exits.size(); ++loop)
    exits[loop] = std::max<std::size_t>(1, loops.exits(loop).size());

  std::vector<LoopId> leaves; // by successor: the outermost loop that the edge leaves
  frequency_[cfg.entry()] = 1;
  for (const BlockId id : loops.order()) {
    const Block& block = *function.block(id);
    if (block.isCold) frequency_[id] = 0;
    const LoopId inner = loops.innermost(id);
    if (loops.isHeader(id)) {
      entries[inner] = frequency_[id];
      const bool isOne = loops.loop(inner).blockCount == 1 && fillsLocalArray(block);
      frequency_[id] = std::min(kMostFrequent, (isOne ? 1 : kIterations) * frequency_[id]);
    }
    // An edge that leaves loops leaves the outermost of them.
    const auto left = [&](BlockId to) {
      LoopId outermost = kNoId;
      for (LoopId at = inner; at != kNoId && !loops.contains(at, to); at = loops.loop(at).parent)
        outermost = at;
      return outermost;
    };
    const std::span<const BlockId> successors = cfg.successors(id);
    leaves.clear();
    unsigned staying = 0;
    for (const BlockId to : successors) {
      leaves.push_back(left(to));
      staying += !function.block(to)->isCold && leaves.back() == kNoId ? 1U : 0U;
    }
    for (std::size_t i = 0; i < successors.size(); ++i) {
      if (cfg.isRetreating(id, successors[i])) continue;
      const LoopId loop = leaves[i];
      frequency_[successors[i]] += loop != kNoId  ? entries[loop] / static_cast<double>(exits[loop])
                                   : staying != 0 ? frequency_[id] / staying
                                                  : 0;
    }
  }
}

void setBlockFrequencies(Function& function) {
  const BlockFrequencies frequencies(function);
  for (Block* block : function.layout()) {
    const double iterations = std::min(kMostFrequent, std::pow(kIterations, block->loopDepth));
    block->frequency = static_cast<float>(block->isCold ? kColdFrequency * iterations
                                                        : std::max(kColdFrequency, frequencies[block->id]));
  }
}

} // namespace orias::ori

#include "phases/block_frequency.h"

#include "ori/analysis/analyses.h"

#include <algorithm>

namespace orias::phases {

namespace {

constexpr double kIterations = 8;
/// Deeper loops count no more.
constexpr double kMostFrequent = 8. * 8 * 8 * 8 * 8 * 8;

bool fillsLocalArray(const ori::Block& block) {
  for (const ori::Instr& instr : block)
    if (instr.op == isa::Op::STL) return true;
  return false;
}

} // namespace

BlockFrequencies::BlockFrequencies(ori::Function& function) : frequency_(function.blockIdCount(), 0) {
  const ori::Cfg& cfg = function.analyses().cfg();
  const ori::Loops& loops = function.analyses().loops();
  std::vector<double> entries(loops.all().size(), 0); // of a loop, how often it is entered
  std::vector<std::size_t> exits(loops.all().size());
  for (ori::LoopId loop = 0; loop < exits.size(); ++loop)
    exits[loop] = std::max<std::size_t>(1, loops.exits(loop).size());

  frequency_[cfg.entry()] = 1;
  for (const ori::BlockId id : loops.order()) {
    const ori::Block& block = *function.block(id);
    if (block.isCold) frequency_[id] = 0;
    const ori::LoopId inner = loops.innermost(id);
    if (loops.isHeader(id)) {
      entries[inner] = frequency_[id];
      const bool isOne = loops.loop(inner).blockCount == 1 && fillsLocalArray(block);
      frequency_[id] = std::min(kMostFrequent, (isOne ? 1 : kIterations) * frequency_[id]);
    }
    // An edge that leaves loops leaves the outermost of them.
    const auto left = [&](ori::BlockId to) {
      ori::LoopId outermost = ori::kNoId;
      for (ori::LoopId at = inner; at != ori::kNoId && !loops.contains(at, to); at = loops.loop(at).parent)
        outermost = at;
      return outermost;
    };
    unsigned staying = 0;
    for (const ori::BlockId to : cfg.successors(id))
      staying += !function.block(to)->isCold && left(to) == ori::kNoId ? 1U : 0U;
    for (const ori::BlockId to : cfg.successors(id)) {
      if (cfg.isRetreating(id, to)) continue;
      const ori::LoopId loop = left(to);
      frequency_[to] += loop != ori::kNoId ? entries[loop] / static_cast<double>(exits[loop])
                        : staying != 0     ? frequency_[id] / staying
                                           : 0;
    }
  }
}

} // namespace orias::phases

#include "phases/loop_preheader.h"

namespace orias::phases {

using ori::Block;
using ori::BlockId;

BlockId uniqueEntering(const ori::Loops& loops, const ori::Cfg& cfg, ori::LoopId loop) {
  BlockId found = ori::kNoId;
  const BlockId header = loops.loop(loop).header;
  if (header == cfg.entry()) return ori::kNoId;
  for (BlockId p : cfg.predecessors(header)) {
    if (cfg.isReachable(p) && loops.contains(loop, p)) continue;
    if (found != ori::kNoId) return ori::kNoId;
    found = p;
  }
  return found;
}

std::vector<Block*> findOrMakePreheaders(ori::Function& function, const ori::Cfg& cfg,
                                         std::span<const ori::EdgeIds> entries) {
  std::vector<Block*> places;
  std::vector<ori::EdgeIds> split;
  for (const ori::EdgeIds& entry : entries) {
    Block* from = function.block(entry.first);
    const bool isConditional = from->last && ori::isTerminator(from->last->op) && from->last->isGuarded();
    const bool leadsHereOnly = cfg.successors(entry.first).size() == 1 && !isConditional;
    places.push_back(leadsHereOnly ? from : nullptr);
    if (!leadsHereOnly) split.push_back(entry);
  }
  const std::vector<Block*> made = ori::splitEdges(function, split);
  auto next = made.begin();
  for (Block*& place : places)
    if (!place) place = *next++;
  return places;
}

void moveToEnd(ori::Function& function, ori::Instr& instr, Block& block) {
  function.unlink(&instr);
  if (block.last && ori::isTerminator(block.last->op))
    function.insertBefore(block.last, &instr);
  else
    function.append(&block, &instr);
  function.touch(&instr);
}

} // namespace orias::phases

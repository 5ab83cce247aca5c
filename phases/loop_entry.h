#pragma once

#include "ori/analysis/loops.h"
#include "ori/cfg_edit.h"

#include <span>
#include <vector>

namespace orias::phases {

/// The source of the only entry edge of a loop, or kNoId. Hoisted code goes there, or onto that edge.
ori::BlockId onlyEntry(const ori::Loops& loops, const ori::Cfg& cfg, ori::LoopId loop);

/// For each entry edge of a loop, as (source, header), the block that serves as its preheader: the source if
/// that leads nowhere else, or a new one on the edge. All at once, since each change of the layout takes as long as the
/// function is.
std::vector<ori::Block*> placesInFront(ori::Function& function, const ori::Cfg& cfg,
                                       std::span<const ori::EdgeIds> entries);

/// Moves an instruction to the end of a block, before its terminator if it has one.
void moveToEnd(ori::Function& function, ori::Instr& instr, ori::Block& block);

} // namespace orias::phases

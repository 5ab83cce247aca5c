#pragma once

#include "ori/analysis/loops.h"
#include "ori/cfg_edit.h"

#include <span>
#include <vector>

namespace orias::phases {

/// The source of the only entry edge of a loop, or kNoId. Hoisted code is placed there, or on that edge.
ori::BlockId uniqueEntering(const ori::Loops& loops, const ori::Cfg& cfg, ori::LoopId loop);

/// For each entry edge of a loop, as (source, header), the block that serves as its preheader: the source if it has no
/// other successor, or a new one on the edge. All in one call, since each change of the layout takes time linear in the
/// function's size.
std::vector<ori::Block*> findOrMakePreheaders(ori::Function& function, const ori::Cfg& cfg,
                                              std::span<const ori::EdgeIds> entries);

/// Moves an instruction to the end of a block, before its terminator if it has one.
void moveToEnd(ori::Function& function, ori::Instr& instr, ori::Block& block);

} // namespace orias::phases

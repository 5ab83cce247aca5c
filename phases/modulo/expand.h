#pragma once

#include "phases/modulo/overlap.h"

namespace orias::phases::modulo {

/// Writes a pipelined loop in place of the one that it was found as: a prologue, the kernel, and behind each exit an
/// epilogue that finishes the iterations under way. Returns its first block. The old block is gone, and `exit` is where
/// control goes behind the loop now.
ori::Block* expandLoop(ori::Function& function, const LoopBody& body, const Schedule& schedule,
                       const Expansion& expansion, ori::BlockId exit);

/// How many instructions that makes.
std::size_t expandedSize(const LoopBody& body, const Schedule& schedule, const Expansion& expansion);

} // namespace orias::phases::modulo

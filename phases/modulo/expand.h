#pragma once

#include "phases/modulo/overlap.h"

namespace orias::phases::modulo {

/// Replaces a loop with its pipelined form: a prologue, the kernel, and after each exit an epilogue that
/// finishes the iterations in flight. Returns its first block. The old block is removed, and `exit` is where
/// control continues after the loop.
ori::Block* expandLoop(ori::Function& function, const LoopBody& body, const Schedule& schedule,
                       const Expansion& expansion, ori::BlockId exit);

/// The number of instructions of the expanded loop.
std::size_t expandedSize(const LoopBody& body, const Schedule& schedule, const Expansion& expansion);

} // namespace orias::phases::modulo

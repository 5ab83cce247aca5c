#pragma once

#include "ori/function.h"
#include "phases/manager.h"

namespace orias::phases {

/// Whether the block does nothing but end all lanes that enter it.
bool isPlainExit(const ori::Block& block);

/// Replaces the branch at the end of a block by an EXIT under its condition, if one of its successors is a plain EXIT.
/// Returns whether it did; if not, a remark may say why.
bool exitUnderGuard(ori::Function& function, PhaseContext& context, ori::Block* block);

/// The same for divergent branches in loops with another exit. The lanes that leave by that exit then reconverge right
/// after the loop; with the branch, they would reconverge only before the EXIT.
bool exitLoopsUnderGuard(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "ori/function.h"
#include "phases/manager.h"

namespace orias::phases {

/// A block that does nothing but end all lanes that come.
bool isPlainExit(const ori::Block& block);

/// Makes the branch at the end of a block, of which one way leads to a plain EXIT, an EXIT under its condition. Returns
/// whether it did; else a remark may say why not.
bool exitUnderGuard(ori::Function& function, PhaseContext& context, ori::Block* block);

/// The same for divergent branches in loops that have another way out. The lanes that leave by that way meet behind the
/// loop then; with the branch, they would meet in front of the EXIT only.
bool exitLoopsUnderGuard(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

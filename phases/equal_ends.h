#pragma once

#include "ori/function.h"

#include <vector>

namespace orias::phases {

/// Does the same wherever it stands: it names no place and talks to no other lane.
bool mayBeShared(const ori::Instr& instr);

/// Ends all lanes that come.
bool isPlainExit(const ori::Instr& instr);

/// What leads to a block without instructions leads on, and such blocks go, but for the entry and those that are named
/// (by block id) in the midst of others. Not for SSA form.
void dropEmptyBlocks(ori::Function& function, const std::vector<bool>& isNamed);

} // namespace orias::phases

#pragma once

#include "ori/function.h"

#include <vector>

namespace orias::phases {

/// Returns true if the instruction has the same effect at any position: it has no label and no effect on other lanes.
bool mayBeShared(const ori::Instr& instr);

/// Returns true if the instruction ends all lanes that execute it.
bool isPlainExit(const ori::Instr& instr);

/// Redirects edges around empty blocks and removes them, except the entry and blocks whose ID an instruction within a
/// block refers to. Not for SSA form.
void dropEmptyBlocks(ori::Function& function, const std::vector<bool>& isNamed);

} // namespace orias::phases

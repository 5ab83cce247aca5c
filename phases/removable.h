#pragma once

#include "encoder/isa/desc.h"
#include "ori/function.h"
#include "phases/memory_access.h"

namespace orias::phases {

/// Whether the instruction has no effect except its results: it does not write memory, wait for lanes or barriers, or
/// transfer control.
inline bool isRemovable(const ori::Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (isa::Flag flag : {isa::Flag::SideEffect, isa::Flag::Store, isa::Flag::Atomic, isa::Flag::Fence,
                         isa::Flag::Branch, isa::Flag::Terminator})
    if (row.has(flag)) return false;
  return true;
}

/// Whether an instruction that does not move can be removed if its results are unused. Also true for a load from tensor
/// memory: it orders other accesses, but if its result is unused, there is nothing to order (ptxas removes it, too:
/// observed).
inline bool isRemovableInPlace(const ori::Instr& instr) {
  return isRemovable(instr) || (isTensorAccess(instr) && isa::desc(instr.op).has(isa::Flag::Load));
}

} // namespace orias::phases

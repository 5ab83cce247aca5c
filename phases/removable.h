#pragma once

#include "encoder/isa/desc.h"
#include "ori/function.h"
#include "phases/memory_access.h"

namespace orias::phases {

/// Nothing would be missed but the results: no memory is written, no lane or barrier waited for, no control passed on.
inline bool isRemovable(const ori::Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (isa::Flag flag : {isa::Flag::SideEffect, isa::Flag::Store, isa::Flag::Atomic, isa::Flag::Fence,
                         isa::Flag::Branch, isa::Flag::Terminator})
    if (row.has(flag)) return false;
  return true;
}

/// The same of instructions that stay where they are: a load from tensor memory orders other accesses, and if nothing
/// reads what it loads there is nothing to order (ptxas removes it, too: observed).
inline bool isRemovableInPlace(const ori::Instr& instr) {
  return isRemovable(instr) || (isTensorAccess(instr) && isa::desc(instr.op).has(isa::Flag::Load));
}

} // namespace orias::phases

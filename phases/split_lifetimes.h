#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Gives registers with guarded definitions, which are not in SSA form, a new register for each lifetime within one
/// block: an unrolled `MOV r, 0; @p LDG r` then has a register for each copy, and its loads can overlap. True if
/// anything was renamed.
bool splitLocalLifetimes(ori::Function& function);

} // namespace orias::phases

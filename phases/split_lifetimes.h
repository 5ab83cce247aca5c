#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Gives registers with guarded definitions, which stay out of SSA form, a register for each of their lifetimes that
/// begins and ends in one block: an unrolled `MOV r, 0; @p LDG r` has a register for each copy then, and its loads can
/// run at the same time. True if it renamed anything.
bool splitLocalLifetimes(ori::Function& function);

} // namespace orias::phases

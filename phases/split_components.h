#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Gives the parts of a wide register that no operand names together registers of their own. A 64-bit value whose
/// halves are computed and read one by one needs no aligned pair then, and one whose upper half nobody reads needs one
/// register only. For code out of SSA form, before allocation. True if it renamed anything.
bool splitComponents(ori::Function& function);

} // namespace orias::phases

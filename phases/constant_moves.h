#pragma once

#include "ori/module.h"

namespace orias::phases {

/// Replaces loads of words at known addresses in constant banks by moves from constant operands, on chips whose
/// instructions have constant operands: a move has a fixed latency, and needs no scoreboard. True if something changed.
bool moveConstants(ori::Function& function);

} // namespace orias::phases

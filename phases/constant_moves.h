#pragma once

#include "ori/module.h"

namespace orias::phases {

/// Replaces loads of words from known places of constant banks by moves of constant operands, on chips whose
/// instructions name constants as operands: a move has a fixed latency, and no scoreboard. True when something changed.
bool moveConstants(ori::Function& function);

} // namespace orias::phases

#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Registers that hold the same number, all of whose words are written in one block, become one register. Numbers of
/// several blocks come together where they are hoisted in front of a loop. Says whether there were any.
bool mergeEqualConstants(ori::Function& function);

} // namespace orias::phases

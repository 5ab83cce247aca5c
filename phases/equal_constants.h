#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Merges registers that hold the same constant, if all their words are written in one block. Hoisting before a loop
/// can move constants from several blocks into one. Returns whether there were any.
bool mergeEqualConstants(ori::Function& function);

} // namespace orias::phases

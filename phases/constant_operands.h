#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Loads operands in constant banks into registers, for chips whose instructions have no constant operands (from sm_100
/// on). Before allocation. Returns whether there were any.
bool loadConstantOperands(ori::Function& function);

} // namespace orias::phases

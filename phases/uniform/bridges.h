#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Shares cross-file copies within a block: additions of constants to a register that is already copied are made on the
/// uniform datapath from what was brought first, as those of matrix descriptors and of the addresses of copies are.
/// Returns how many bridges (R2UR) went.
unsigned shareBridges(ori::Function& function);

} // namespace orias::phases

#pragma once

#include "ori/function.h"

namespace orias::phases {

/// In a block values go from the lanes to the warp once: sums of the same register with numbers are made on the uniform
/// datapath from what was brought first, as those of matrix descriptors and of the addresses of copies are. Returns how
/// many bridges (R2UR) went.
unsigned shareBridges(ori::Function& function);

} // namespace orias::phases

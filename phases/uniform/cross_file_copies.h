#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Shares cross-file copies within a block: additions of constants to a register that has been copied already use the
/// uniform datapath, starting from the first copy. Matrix descriptors and addresses of copies are such additions.
/// Returns how many cross-file copies (R2UR) were removed.
unsigned shareCrossFileCopies(ori::Function& function);

} // namespace orias::phases

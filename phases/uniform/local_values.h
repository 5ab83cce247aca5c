#pragma once

#include "ori/function.h"

namespace orias::phases {

/// In code that may execute divergently (ori::mayRunApart) the uniform registers may change while a part
/// waits for its turn, which it may do at the end of any block. So none stays in use from one block to the next, nor
/// across a call: what is needed is made again, or is kept in a register of the lanes meanwhile. Returns whether
/// anything was to be done.
bool keepUniformValuesLocal(ori::Function& function);

} // namespace orias::phases

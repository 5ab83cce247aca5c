#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Texture fetches of a function in SSA form return only the components that are used, in as few registers as these
/// need. True if anything changed.
bool narrowTexels(ori::Function& function);

} // namespace orias::phases

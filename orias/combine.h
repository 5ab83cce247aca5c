#pragma once

#include "encoder/cubin/module.h"

#include <vector>

namespace orias {

/// Combines several relocatable files into one: resolves declarations in one part to definitions in another. A variable
/// gets the strictest alignment of its declarations. A name has the same meaning in all parts (symbol_resolution.h),
/// and at most one definition.
cubin::Module combine(std::vector<cubin::Module> parts);

} // namespace orias

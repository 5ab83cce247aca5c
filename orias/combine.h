#pragma once

#include "encoder/cubin/module.h"

#include <vector>

namespace orias {

/// Makes one relocatable file of several: variables and functions that one part declares are those that another
/// defines. A variable has the strictest alignment that it is declared with. Names mean the same in all parts
/// (several_inputs.h), and each is defined once at most.
cubin::Module combine(std::vector<cubin::Module> parts);

} // namespace orias

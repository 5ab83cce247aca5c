#pragma once

#include "ori/function.h"

#include <vector>

namespace orias::phases {

/// By virtual register: whether it has one value at all points where it can be read, as all registers except `multiDef`
/// ones have in SSA form. Before SSA form this holds if each component has one definition, which dominates every use. A
/// value that goes around a loop, or is written on two paths, is not single. Most registers of compiled PTX are.
std::vector<bool> singleDefValues(const ori::Function& function);

} // namespace orias::phases

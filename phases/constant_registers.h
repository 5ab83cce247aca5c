#pragma once

#include "ori/analysis/loops.h"

#include <vector>

namespace orias::phases {

/// The registers that are computed of nothing but numbers, by virtual register. Those with several definitions, one of
/// them in the loop `open`, do not count: they stay variables. ori::kNoId: there is no such loop.
std::vector<bool> constantRegisters(const ori::Function& function, const ori::Loops& loops, ori::LoopId open);

} // namespace orias::phases

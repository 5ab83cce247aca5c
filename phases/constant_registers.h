#pragma once

#include "ori/analysis/loops.h"

#include <vector>

namespace orias::phases {

/// The registers that are computed from constants and addresses of the frame only, by virtual register. Registers with
/// several definitions, one of them in the loop `open`, do not count: they remain variables. ori::kNoId: there is no
/// such loop.
std::vector<bool> constantRegisters(const ori::Function& function, const ori::Loops& loops, ori::LoopId open);

} // namespace orias::phases

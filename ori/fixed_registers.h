#pragma once

#include "ori/function.h"

namespace orias::ori {

/// Whether the instruction reads a special register whose value is constant for the thread.
bool isFixedSpecialRead(const Instr& instr);

} // namespace orias::ori

#pragma once

#include "ori/function.h"

namespace orias::ori {

/// Whether the instruction reads a special register that stays the same as long as the thread runs.
bool isFixedSpecialRead(const Instr& instr);

} // namespace orias::ori

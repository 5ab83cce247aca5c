#pragma once

#include "tools/interpreter/machine.h"

namespace orias::interp {

/// The value of a special register that is constant while the thread runs.
std::uint64_t specialRegister(const Thread& thread, ptx::SpecialRegister reg, unsigned component);

} // namespace orias::interp

#pragma once

#include "encoder/cubin/module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace orias {

/// cubin::Function::minStackSize of a kernel whose stack has no limit: the loader asks the program then (observed in
/// ptxas' cubins).
inline constexpr std::uint32_t kUnknownStack = ~0u;

/// Makes a whole program of a relocatable one: functions keep code of their own, as debuggers want it, and nothing is
/// left to a linker. Constants and shared memory get their places, which go into the code; addresses of variables and
/// functions stay for the loader. Kernels get the registers, barriers and stack of what they call.
/// Shared memory lies as in ptxas' cubins for debugging (observed): first what functions and the module declare, in
/// each kernel at the same place, then that of the kernel, then, in all kernels at one place, what is sized at launch.
///
/// Functions that no kernel reaches, and shared memory that nobody uses, go; with `keepsAll` they stay, for debuggers.
///
/// `cubin` has been laid out. Returns a message for each thing that it needs and does not have.
std::vector<std::string> makeWholeProgram(cubin::Module& cubin, bool keepsAll);

} // namespace orias

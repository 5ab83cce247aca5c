#pragma once

#include "encoder/cubin/module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace orias {

/// cubin::Function::minStackSize of a kernel with an unbounded stack: the loader then uses the program's limit
/// (observed in ptxas' cubins).
inline constexpr std::uint32_t kUnknownStack = ~0u;

/// Links a relocatable module to a whole program whose functions are not inlined, as debuggers require. Assigns offsets
/// to constants and shared memory and writes them into the code; the loader writes addresses of variables and
/// functions. Kernels get the registers, barriers and stack of their callees. The layout of shared memory is that of
/// ptxas' cubins for debugging (observed): variables of functions and the module, at the same offset in each kernel,
/// then those of the kernel, then, at one offset in all kernels, dynamic memory.
///
/// Removes functions that no kernel reaches, and unused shared memory, unless `keepsAll` is set (for debuggers).
///
/// `cubin` has been laid out. Returns a message for each undefined symbol.
std::vector<std::string> makeWholeProgram(cubin::Module& cubin, bool keepsAll);

} // namespace orias

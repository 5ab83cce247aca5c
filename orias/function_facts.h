#pragma once

#include "encoder/cubin/module.h"
#include "frontend/instr_form_table.h"
#include "frontend/module.h"

namespace orias {

/// Says in a relocatable file what a linker wants to know of functions beside their code: the prototypes of those that
/// the file has or names and of the calls through pointers, and the aliases.
void addFunctionFacts(cubin::Module& cubin, const ptx::Module& source, const ptx::FormTable& forms);

/// Says of kernels whose launches count clusters (`.blocksareclusters`) that they do. No code depends on it.
void addClusterFacts(cubin::Module& cubin, const ptx::Module& source);

/// How object files write a prototype: `#`, the result (`v`: none), the parameters. A letter for the size and kind of
/// each: b, h, i, l, x of 8 to 128 bits, f and d of floating-point numbers, with the number of elements behind it for
/// arrays. Observed in `ptxas -c`.
std::string prototypeText(const ptx::Module& module, std::span<const ptx::VariableId> params,
                          std::span<const ptx::VariableId> returns);

} // namespace orias

#pragma once

#include "encoder/cubin/module.h"
#include "frontend/instr_form_table.h"
#include "frontend/module.h"

namespace orias {

/// Adds the facts on functions that a linker needs to a relocatable file: the prototypes of functions that the file
/// defines or refers to and of calls through pointers, and the aliases.
void addFunctionFacts(cubin::Module& cubin, const ptx::Module& source, const ptx::FormTable& forms);

/// Marks kernels whose launches count clusters (`.blocksareclusters`). No code depends on it.
void addClusterFacts(cubin::Module& cubin, const ptx::Module& source);

/// The text of a prototype in object files: `#`, the result (`v`: none), the parameters. Each is a letter: b, h, i, l,
/// x for 8 to 128 bits, f and d for floating-point numbers; for an array its number of elements follows. Observed in
/// `ptxas -c`.
std::string prototypeText(const ptx::Module& module, std::span<const ptx::VariableId> params,
                          std::span<const ptx::VariableId> returns);

} // namespace orias

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "encoder/cubin/module.h"

namespace orias::cubin {

/// Returns the index of a symbol in the symbol table by its name.
using SymbolIndex = std::function<std::uint32_t(const std::string&)>;

/// The records of `.nv.info`: registers, frames and stacks of all functions.
std::vector<Attribute> moduleAttributes(const Module& module, const SymbolIndex& symbol);

/// The records of `.nv.info.<function>`.
std::vector<Attribute> functionAttributes(const Function& function, const Abi& abi, const SymbolIndex& symbol);

/// The records of `.nv.compat`.
std::vector<Attribute> compatibilityAttributes(const Module& module);

/// Sets the fields of `function` from `.nv.info.<function>`. `symbolName` returns the name of a symbol by its index.
void applyFunctionAttributes(Function& function, const std::vector<Attribute>& attributes,
                             const std::function<std::string(std::uint32_t)>& symbolName);

} // namespace orias::cubin

#pragma once

#include "encoder/code.h"
#include "encoder/cubin/module.h"
#include "ori/module.h"

#include <span>

namespace orias {

/// A function and its machine code.
struct CodedFunction {
  const ori::Function* function = nullptr;
  const encoder::FunctionCode* code = nullptr;
  unsigned maxRegisters = 255; ///< the limit of the allocator
  bool isAnnotated = false;    ///< its size is recorded in the cubin
};

/// Converts a module for the cubin writer: variables, the address table, and the given functions.
cubin::Module describeCubin(const ori::Module& module, std::span<const CodedFunction> functions);

/// Sets the constant bank with the texture handles of a kernel.
void addHandleBanks(cubin::Function& kernel);

} // namespace orias

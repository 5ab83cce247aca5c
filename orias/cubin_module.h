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
  unsigned maxRegisters = 255; ///< what the allocator was allowed
  bool isAnnotated = false;    ///< its cubin says how large it is
};

/// Says of a module what its cubin has to say: variables, the address table, and the given functions.
cubin::Module describeCubin(const ori::Module& module, std::span<const CodedFunction> functions);

/// Says in which bank a kernel has its words with handles.
void addHandleBanks(cubin::Function& kernel);

} // namespace orias

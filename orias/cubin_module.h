#pragma once

#include "encoder/code.h"
#include "encoder/cubin/module.h"
#include "ori/module.h"

#include <span>
#include <vector>

namespace orias {

/// A function and its machine code, with everything that the cubin writer and the line tables need from its
/// instructions: these may then be freed.
struct CodedFunction {
  const ori::Function* function = nullptr;
  const encoder::FunctionCode* code = nullptr;
  cubin::Function described;
  std::vector<ori::Source> sources; ///< of the instructions, without padding
  bool readsTextures = false;       ///< or surfaces
};

/// `maxRegisters`: the limit of the allocator. `isAnnotated`: the size is recorded in the cubin.
CodedFunction describeCode(const ori::Function& function, const encoder::FunctionCode& code, unsigned maxRegisters,
                           bool isAnnotated);

/// Converts a module for the cubin writer: variables, the address table, and the given functions, whose descriptions
/// it takes.
cubin::Module describeCubin(const ori::Module& module, std::span<CodedFunction* const> functions);

/// Sets the constant bank with the texture handles of a kernel.
void addHandleBanks(cubin::Function& kernel);

} // namespace orias

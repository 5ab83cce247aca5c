#pragma once

#include "frontend/module.h"
#include "support/diagnostics.h"

#include <span>
#include <string>

namespace orias {

/// One of several inputs of a program.
struct ProgramInput {
  std::string name; ///< for messages
  ptx::Module* module = nullptr;
  Diagnostics* diags = nullptr;
};

/// Resolves the names of several inputs. A name that is visible outside its input has one definition and may be
/// declared anywhere; declarations of functions that another input defines become `.extern`. A local name is changed if
/// another input has the same name, because names identify symbols in the file.
/// Errors are those of ptxas (observed): a second definition, a local definition of a name that others see, and
/// mismatching types, sizes or parameters. Unlike ptxas, this distinguishes local symbols of the same name in two
/// inputs (in ptxas all code gets one of the two), and accepts functions that are defined before they are declared.
void resolveSymbols(std::span<const ProgramInput> inputs);

/// Whether the inputs must be linked. They need not be if they are independent: none uses definitions of another, only
/// one has variables or calls the driver's functions (both have offsets in shared banks), and there are no pointers to
/// functions, which one input could pass to another.
bool needLinking(std::span<const ProgramInput> inputs);

} // namespace orias

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

/// Settles what the names of the inputs mean to one another. A name that is seen outside its input is defined once and
/// may be declared anywhere; declarations of functions that another input defines become `.extern`. Names that are
/// their input's own are changed where another input has the same, since the file knows things by their names.
/// What does not fit is an error, as it is for ptxas (observed): a second definition, a definition of the input's own
/// behind a name that others see, and other types, sizes or parameters. Unlike ptxas this keeps things of one name
/// apart that two inputs have for themselves (there all code gets one of the two), and lets functions be defined
/// before they are declared.
void resolveSymbols(std::span<const ProgramInput> inputs);

/// Must the inputs be linked? They need not when each can be a program of its own: none uses what another defines,
/// only one has variables or calls the driver's functions (both have places in banks that all share), and there are no
/// pointers to functions, which one input may give to another.
bool needLinking(std::span<const ProgramInput> inputs);

} // namespace orias

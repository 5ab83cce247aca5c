#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "support/diagnostics.h"

namespace orias::ptx {

struct CheckOptions {
  /// What is compiled for (`-arch`); number 0: what the module's `.target` says.
  Arch arch;
  bool warnDouble = false; ///< warn of every instruction on f64
};

/// The target that instructions are checked for: `-arch`, or else the `.target` of the module.
inline Arch compiledFor(const Module& module, const CheckOptions& options) {
  return options.arch.number != 0 ? options.arch : module.target.arch;
}

/// Checks a parsed module: its declarations here, then its instructions (check_instr.h). True if nothing is wrong.
/// Where the parser has found errors, only the instructions that it could read are checked: the declarations are not
/// complete.
bool check(Module& module, const CheckOptions& options, Diagnostics& diags);
/// The same, with the forms of the module.
bool check(Module& module, GrowingForms& forms, const CheckOptions& options, Diagnostics& diags);

/// The part of check() for directives, variables and functions: what needs which `.version` and `.target`,
/// limits, and directives that exclude each other.
void checkDeclarations(const Module& module, const CheckOptions& options, Diagnostics& diags);

} // namespace orias::ptx

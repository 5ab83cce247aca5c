#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "support/diagnostics.h"

namespace orias::ptx {

struct CheckOptions {
  /// The target of the compilation (`-arch`); number 0: the module's `.target`.
  Arch arch;
  bool warnDouble = false; ///< warn about every f64 instruction
};

/// The target that instructions are checked for: `-arch`, or else the `.target` of the module.
inline Arch compiledFor(const Module& module, const CheckOptions& options) {
  return options.arch.number != 0 ? options.arch : module.target.arch;
}

/// Checks a parsed module: its declarations here, then its instructions (check_instr.h). Returns true if there are no
/// errors. After errors of the parser, only the parsed instructions are checked, because the declarations are not
/// complete.
bool check(Module& module, const CheckOptions& options, Diagnostics& diags);
/// Likewise, with the forms of the module.
bool check(Module& module, GrowingForms& forms, const CheckOptions& options, Diagnostics& diags);

/// The part of check() for directives, variables and functions: required `.version` and `.target`, limits, and
/// directives that exclude each other.
void checkDeclarations(const Module& module, const CheckOptions& options, Diagnostics& diags);

} // namespace orias::ptx

#pragma once

#include "frontend/module.h"
#include "support/diagnostics.h"

namespace orias::ptx {

struct CheckOptions {
  /// What is compiled for (`-arch`); number 0: what the module's `.target` says.
  Arch arch;
};

/// Checks the declarations (check_decls.cpp), then the instructions (check_instr.h). True if nothing is wrong.
bool check(Module& module, const CheckOptions& options, Diagnostics& diags);

} // namespace orias::ptx

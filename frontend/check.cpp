#include "frontend/check.h"

#include "frontend/check_instr.h"

namespace orias::ptx {

bool check(Module& module, const CheckOptions& options, Diagnostics& diags) {
  const unsigned before = diags.errorCount();
  checkDeclarations(module, options, diags);
  checkInstructions(module, options, diags);
  return diags.errorCount() == before;
}

} // namespace orias::ptx

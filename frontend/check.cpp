#include "frontend/check.h"

#include "frontend/check_instr.h"

namespace orias::ptx {

bool check(Module& module, const CheckOptions& options, Diagnostics& diags) {
  GrowingForms forms(module);
  return check(module, forms, options, diags);
}

bool check(Module& module, GrowingForms& forms, const CheckOptions& options, Diagnostics& diags) {
  const bool isWhole = !diags.hasErrors();
  // Without a version every feature would be too new.
  if (!isWhole && (module.version == Version{} || module.target.arch.number == 0)) return false;
  if (isWhole) checkDeclarations(module, options, diags);
  checkInstructions(module, forms.table(), options, diags);
  return !diags.hasErrors();
}

} // namespace orias::ptx

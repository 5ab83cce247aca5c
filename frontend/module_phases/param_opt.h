#pragma once

#include "frontend/module.h"
#include "frontend/module_phases/growing_forms.h"
#include "frontend/module_phases/module_remark.h"

namespace orias::ptx {

/// Phase M9, ParamOpt and KernelArgEliminator, on kernels. Their parameters are constants: nothing can store to them.
///
/// A load of a parameter that another one has loaded becomes a move: within code that has no label between the two, and
/// everywhere behind a load that stands before all branches, into a register that nothing else writes.
///
/// A load of a parameter that nobody reads goes, with the moves and conversions of it. A parameter that is not used at
/// all keeps its place, since the host writes the others behind it; a remark names it.
ModulePhaseResult paramOpt(Module& module, GrowingForms& forms, bool wantRemarks);

} // namespace orias::ptx

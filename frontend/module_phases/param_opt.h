#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"

namespace orias::ptx {

/// Phase M9, ParamOpt and KernelArgEliminator, on kernels. Their parameters are constants: nothing can store to them.
///
/// A load of a parameter that another one has loaded becomes a move: within code that has no label between the two, and
/// everywhere after a load before all branches, into a register with no other definition.
///
/// An unused load of a parameter is removed, with moves and conversions of it. An unused parameter keeps
/// its offset, because the host writes the others after it; a remark names it.
ModulePhaseResult paramOpt(Module& module, GrowingForms& forms, bool wantRemarks);

} // namespace orias::ptx

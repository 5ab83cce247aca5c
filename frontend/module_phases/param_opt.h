#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"

namespace orias::ptx {

/// Phase M9, ParamOpt and KernelArgEliminator, on kernels. Their parameters are constants, because nothing can store to
/// them.
ModulePhaseResult paramOpt(Module& module, GrowingForms& forms, bool wantRemarks);

} // namespace orias::ptx

#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"

namespace orias::ptx {

/// Phase M9, ParamOpt and KernelArgEliminator, on kernels. Their parameters are constants, because nothing can store to
/// them.
///
/// A load of a parameter that was loaded before becomes a move. This applies to loads without a label between them,
/// and, for a register with no other definition, to all code after a load that precedes all branches.
///
/// An unused load of a parameter is removed, with moves and conversions of it. An unused parameter keeps its offset,
/// because the host writes the others after it; a remark reports it.
ModulePhaseResult paramOpt(Module& module, GrowingForms& forms, bool wantRemarks);

} // namespace orias::ptx

#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"

namespace orias::ptx {

/// Phase M12, AllocaHoisting: an `alloca` of constant size that executes at most once per call becomes a `.local`
/// variable of the function with a fixed offset in its frame, and the instruction becomes a move of its address.
/// Function phases can then promote the variable to registers, or let it share bytes with other objects.
ModulePhaseResult hoistAllocas(Module& module, GrowingForms& forms, bool wantRemarks);

} // namespace orias::ptx

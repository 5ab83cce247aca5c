#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// An mbarrier on targets before sm_90, where it is a word that ordinary instructions update.
void lowerOlderMbarrier(FunctionLowering& f, const Instruction& i, const Form& form);

/// mbarrier.pending_count on these targets.
void lowerOlderPendingCount(FunctionLowering& f, isa::Operand count, isa::Operand state);

} // namespace orias::ptx

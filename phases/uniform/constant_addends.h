#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"

namespace orias::phases {

/// For targets whose vector instructions read constant banks (not readsConstantsFromUniform). Removes loads of
/// constants at known offsets if all readers can use the constant as an operand. This includes 64-bit addends, for
/// which an immediate factor moves to a register that all products with it share (`IMAD.WIDE Rd, Ra, Rb, c[][]` has
/// room for one constant only; ptxas does the same on sm_75 to sm_89, observed). Remaining loads before an early exit
/// that are read after it move after it; their readers before the exit use the constant as an operand. Returns how many
/// loads changed.
unsigned nameConstantOperands(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "ori/analysis/divergence.h"
#include "phases/phase.h"

namespace orias::phases {

/// For targets whose vector instructions read constant banks (not readsConstantsFromUniform). Loads of constants at
/// fixed places go where all readers can name the constant: also 64-bit addends, for which an immediate factor moves to
/// a register that all products with it share (`IMAD.WIDE Rd, Ra, Rb, c[][]` has room for one constant only; ptxas does
/// the same on sm_75 to sm_89, observed). What is left in front of an early exit and read behind it goes behind it; its
/// readers in front of the exit name the constant. Returns how many loads changed.
unsigned nameConstantOperands(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context);

} // namespace orias::phases

#pragma once

#include "ori/function.h"
#include "phases/remarks.h"

namespace orias::phases {

/// For loops outside SSA form with a 64-bit induction variable and an exit test that is equivalent in 32 bits: the
/// comparison uses a new 32-bit counter instead. It is then one instruction, the loop can be unrolled by its counter
/// (phase 22), and the 64-bit counter is dead if the comparison was its only use.
///
/// The initial value and the step must be constants. Either the limit is a constant and all compared values have 32
/// bits; or the step is 1, the loop continues while the counter is less, and the limit is a sign- or zero-extended
/// 32-bit register. Returns whether anything changed.
bool narrowInductionVariables(ori::Function& function, Remarks& remarks);

} // namespace orias::phases

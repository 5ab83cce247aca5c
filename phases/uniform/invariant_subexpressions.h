#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// A vector instruction takes one uniform register. If two of its sources are uniform loop-invariant values, the other
/// would need a vector register for the whole loop. Instead the part that depends on both is computed once, before the
/// loop:
///
///     LOP3 P, RZ, a, b, RZ        t = a | b;       ISETP.NE P, t, RZ     (whether a 64-bit divisor is zero)
///     IMAD.WIDE d, a, b, c        t = a * b;       d = c + t             (a 64-bit index and the size of the grid)
///
/// Returns how many instructions were split.
unsigned hoistInvariantSubexpressions(ori::Function& function, const PhaseContext& context);

} // namespace orias::phases

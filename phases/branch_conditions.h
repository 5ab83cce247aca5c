#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Branches on the AND of a predicate and a comparison use both predicates: the guard and BRA's own predicate operand.
/// The comparison then need not wait for the other predicate. After allocation and layout: such a branch cannot be
/// inverted. True if anything changed.
bool splitBranchConditions(ori::Function& function);

/// Branches on the copy of a uniform predicate become BRA.U on the predicate itself, where the chip has BRA.U, and the
/// copy is deleted. Also after allocation and layout. True if anything changed.
bool useUniformConditions(ori::Function& function);

} // namespace orias::phases

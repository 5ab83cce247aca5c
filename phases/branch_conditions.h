#pragma once

#include "ori/function.h"

namespace orias::phases {

/// Branches on the AND of a predicate and a comparison take both predicates: the guard and the one that BRA itself has.
/// The comparison then need not wait for the other predicate. After allocation and layout: such a branch cannot be
/// turned around. True if anything changed.
bool splitBranchConditions(ori::Function& function);

/// Branches on the copy of a uniform predicate become BRA.U on the predicate itself, where the chip has that, and the
/// copy goes. After allocation and layout, too. True if anything changed.
bool useUniformConditions(ori::Function& function);

} // namespace orias::phases

#pragma once

#include "regalloc/register_placement.h"

namespace orias::regalloc {

/// How many webs may be taken from their slots in total.
inline constexpr std::size_t kMaxMoves = 240;

/// Finds registers for unassigned webs by moving others: an unassigned web takes the run whose owners can be moved most
/// easily, and these are then assigned in turn. Returns the placement with all webs placed, or the given one if this
/// takes more moves than a bound, at most `mostMoves`, or too much work, or if too many webs are unassigned.
Placement mend(const Webs& webs, const RegisterBudget& budget, Placement placement, std::size_t mostMoves = kMaxMoves);

} // namespace orias::regalloc

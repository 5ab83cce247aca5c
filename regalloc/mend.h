#pragma once

#include "regalloc/slots.h"

namespace orias::regalloc {

/// Webs that may be taken from their slots in all.
inline constexpr std::size_t kMostMoves = 240;

/// Finds registers for unassigned webs by moving others: an unassigned web takes the run whose
/// owners can be moved most easily, and these are then assigned in turn. Returns the placement with
/// all webs placed, or the one given if that does not come about within a bound, `mostMoves` at most.
Placement mend(const Webs& webs, const SlotBudget& budget, Placement placement, std::size_t mostMoves = kMostMoves);

} // namespace orias::regalloc

#pragma once

#include "regalloc/register_placement.h"
#include "regalloc/spill.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace orias::regalloc {

/// A part of a web's live range, within one block, in which it has another register than elsewhere.
struct Stay {
  Point start = 0, end = 0;
  std::uint32_t slot = 0;
};

/// A web that changes registers: it is in the register of the placement, except during its stays, which are in order.
struct MovingWeb {
  std::uint32_t web = 0;
  std::vector<Stay> stays;
};

struct Moves {
  std::vector<MovingWeb> webs;
  double weight = 0; ///< of the copies, each by weightOf
  std::vector<TakenByMoving> taken;
};

/// Places the webs without a register where the pressure is within the limit: each point has free registers then, and a
/// web may move from one to another by a copy. A web is in the same register wherever it is live from one block to the
/// next: of the registers that are free there, the one that it must leave least often. For file R. Only webs of one
/// register move; wider ones take a run from such webs. Returns nothing if some web cannot be placed; otherwise
/// `placement` is complete.
std::optional<Moves> placeByMoves(const Webs& webs, const NumberedCode& code, const RegisterBudget& budget,
                                  Placement& placement);

/// Inserts the copies, and creates a virtual register for each stay in `physical`.
void insertMoves(ori::Function& function, const Webs& webs, const LiveRanges& ranges, std::span<const MovingWeb> moving,
                 SpillState& state, std::vector<std::uint32_t>& physical);

} // namespace orias::regalloc

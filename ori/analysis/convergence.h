#pragma once

#include "ori/analysis/loops.h"

#include <utility>
#include <vector>

namespace orias::ori {

/// One pair of BSSY and BSYNC: lanes that leave `from` on different ways meet in front of `meet`. Lanes that leave the
/// region elsewhere must not be waited for any more (BREAK).
struct ConvergenceRegion {
  BlockId from = kNoId;
  BlockId meet = kNoId;
  unsigned barrier = 0;
  std::vector<std::pair<BlockId, BlockId>> leaving; ///< the edges out of the region, but for those into `meet`
  /// The block where all lanes have met again that set the barrier, those that left early as well: `meet` where no edge
  /// leaves, else a meeting further on, or kNoId.
  BlockId gathered = kNoId;
};

/// A block where the sides of divergent branches meet, but no barrier makes their lanes wait for each other.
struct MissedMeeting {
  BlockId meet = kNoId;
  bool outOfBarriers = false; ///< else the code is not nested
};

/// Where the lanes of a warp come together again. Phase 99 makes it so; the divergence analysis relies on it for the
/// immediate post-dominators of divergent branches, which are regions or missed. The regions besides are for lanes that
/// stay in a loop which others leave.
struct ConvergencePlan {
  std::vector<ConvergenceRegion> regions;
  std::vector<MissedMeeting> missed;
};

/// The barriers that a function may use. Code that is called and is not ours uses the lower ones itself (observed for
/// sm_90).
struct BarrierRange {
  unsigned first = 0, count = 0;
};
inline constexpr unsigned kBarriersOfCallees = 6;
BarrierRange usableBarriers(const Function& function);

/// May a part of a warp run the code of this function on its own, wherever? So it is where the function may be called
/// by some lanes only, and where it calls functions of which is not known whether lanes come back together. ptxas keeps
/// no uniform register from one block to the next then (observed).
bool mayRunApart(const Function& function);

/// Plans for each block where sides of divergent branches meet one region that covers all of those branches. A region
/// is sound when every lane that sets its barrier comes to wait for it (or exits), and nobody waits who has not set it.
/// `isDivergent` is indexed by block id: lanes may leave that block on different ways.
ConvergencePlan planConvergence(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators,
                                const Loops& loops, unsigned barrierCount, const std::vector<bool>& isDivergent);

} // namespace orias::ori

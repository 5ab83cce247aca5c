#pragma once

#include "ori/analysis/loops.h"

#include <utility>
#include <vector>

namespace orias::ori {

/// A BSSY/BSYNC pair: lanes that leave `from` on different paths reconverge before `meet`. BREAK removes lanes
/// that leave the region elsewhere from the barrier.
struct ConvergenceRegion {
  BlockId from = kNoId;
  BlockId meet = kNoId;
  unsigned barrier = 0;
  std::vector<std::pair<BlockId, BlockId>> leaving; ///< the exit edges of the region, except those into `meet`
  /// The block where all lanes that set the barrier have reconverged, including early exits: `meet` if no edge leaves
  /// the region, else a later reconvergence point, or kNoId.
  BlockId gathered = kNoId;
  /// Regions in other arms of an enclosing branch use the same barrier. Lanes still reconverge unless they yield to
  /// each other between the arms (observed on H200). No analysis may rely on it: the reconvergence point counts as
  /// missed.
  bool isShared = false;
};

/// A block where the arms of divergent branches join, but no barrier makes sure that their lanes reconverge.
struct UnsyncedReconvergence {
  BlockId meet = kNoId;
  bool outOfBarriers = false; ///< else the control flow is not nested
  BlockId until = kNoId;      ///< the end of the enclosing region, where all lanes reconverge at the latest
};

/// Reconvergence points of a warp. Phase 99 implements them; the divergence analysis relies on them for the immediate
/// post-dominators of divergent branches, which are regions or missed. Other regions are for lanes that continue in a
/// loop which other lanes exit.
struct ConvergencePlan {
  std::vector<ConvergenceRegion> regions;
  std::vector<UnsyncedReconvergence> missed;
};

/// The barriers that a function may use. External callees use the lower ones themselves (observed for
/// sm_90).
struct BarrierRange {
  unsigned first = 0, count = 0;
};
inline constexpr unsigned kBarriersOfCallees = 6;
BarrierRange usableBarriers(const Function& function);

/// Returns true if the code of this function may execute divergently at any point: if only some lanes
/// may call it, or if it calls functions whose return is not known to be convergent. ptxas then keeps
/// no uniform register live across blocks (observed).
bool mayRunDivergent(const Function& function);

/// YIELD and NANOSLEEP: other lanes of the warp may go first.
constexpr bool letsOthersRun(Op op) {
  return op == Op::YIELD || op == Op::NANOSLEEP;
}
/// Whether the function may contain such an instruction.
bool mayYield(const Function& function);

/// The blocks that lanes may execute at any time after some of them have yielded (letsOthersRun), up to and including
/// the first block on all paths from there in which all lanes wait for each other (WARPSYNC.ALL). BSYNC does not wait
/// for lanes that have yielded (observed on H200). One list for each such end; empty if there is none.
std::vector<std::vector<BlockId>> blocksAfterYields(const Cfg& cfg, const DomTree& postDominators);

/// Plans, for each join of divergent branch arms, one region that covers all of those branches. A region is
/// sound if every lane that sets its barrier waits for it (or exits), and no other lane waits for it. `isDivergent`
/// is indexed by block ID: lanes may leave that block on different edges. `withJoins` adds regions for arms that join
/// before the immediate post-dominator. They do not change the other regions.
ConvergencePlan planConvergence(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators,
                                const Loops& loops, unsigned barrierCount, const std::vector<bool>& isDivergent,
                                bool withJoins = false);

} // namespace orias::ori

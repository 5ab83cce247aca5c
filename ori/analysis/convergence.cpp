#include "ori/analysis/convergence.h"

#include "encoder/isa/target.h"
#include "ori/module.h"

#include <algorithm>
#include <map>

namespace orias::ori {

namespace {

class Planner {
 public:
  Planner(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators, const Loops& loops)
      : cfg_(cfg), dominators_(dominators), postDominators_(postDominators), loops_(loops) {}

  ConvergencePlan run(unsigned barrierCount, const std::vector<bool>& isDivergent) {
    findRegions(isDivergent);
    assignBarriers(barrierCount);
    return std::move(plan_);
  }

 private:
  /// The loop that a BSYNC in front of `meet` belongs to: in front of a header is outside of its loop.
  LoopId loopInFrontOf(BlockId meet) const {
    const LoopId loop = loops_.innermost(meet);
    return loop != kNoId && loops_.isHeader(meet) ? loops_.loop(loop).parent : loop;
  }

  void findRegions(const std::vector<bool>& isDivergent) {
    std::map<BlockId, BlockId> regionOf; // meet -> from
    for (BlockId b : cfg_.reversePostOrder()) {
      if (!isDivergent[b]) continue;
      const BlockId meet = postDominators_.idom(b);
      if (meet == kNoId || meet == postDominators_.root()) continue; // nothing but the end of the program
      auto [at, isNew] = regionOf.emplace(meet, b);
      if (!isNew) at->second = dominators_.commonDominator(at->second, b);
    }
    for (auto [meet, from] : regionOf) {
      BlockId d = from;
      // The barrier is set once for each time that it is waited for: both ends stand in the same loop.
      while (d != kNoId && (loops_.innermost(d) != loopInFrontOf(meet) || setsTwice(d, meet)))
        d = dominators_.idom(d);
      const bool isSound = d != kNoId && d != meet && dominators_.strictlyDominates(d, meet) &&
                           postDominators_.strictlyDominates(meet, d) && entriesComeFrom(d, meet) &&
                           !waitsTwice(d, meet);
      if (isSound)
        plan_.regions.push_back({d, meet, 0});
      else
        plan_.missed.push_back({meet, false});
    }
  }

  /// Whether a lane that set the barrier in `d` may come to `d` again without waiting in front of `meet`. In natural
  /// loops it cannot, when both stand in the same one; a cycle with several entries is no natural loop.
  bool setsTwice(BlockId d, BlockId meet) const {
    return !loops_.isReducible() && anyWay(d, [&](BlockId from, BlockId to) {
      return to == d ? Way::Found : isWait(from, to, meet) ? Way::Ends : Way::GoesOn;
    });
  }

  /// Whether a lane that waited in front of `meet` may come there again without setting the barrier in `d`.
  bool waitsTwice(BlockId d, BlockId meet) const {
    return !loops_.isReducible() && anyWay(meet, [&](BlockId from, BlockId to) {
      return to == d ? Way::Ends : isWait(from, to, meet) ? Way::Found : Way::GoesOn;
    });
  }

  /// The BSYNC stands on the ways into `meet` that are no back edges.
  bool isWait(BlockId from, BlockId to, BlockId meet) const { return to == meet && !cfg_.isRetreating(from, to); }

  enum class Way : std::uint8_t { GoesOn, Ends, Found };

  /// Follows all ways from a block; `look(from, to)` says what an edge means.
  template <typename Look> bool anyWay(BlockId start, const Look& look) const {
    std::vector<bool> seen(cfg_.idCount());
    std::vector<BlockId> work = {start};
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      for (BlockId next : cfg_.successors(at)) {
        const Way way = look(at, next);
        if (way == Way::Found) return true;
        if (way == Way::Ends || seen[next]) continue;
        seen[next] = true;
        work.push_back(next);
      }
    }
    return false;
  }

  /// All ways into `meet`, but for the back edges of its own loop, come from blocks under `d`.
  bool entriesComeFrom(BlockId d, BlockId meet) const {
    for (BlockId p : cfg_.predecessors(meet))
      if (!dominators_.dominates(d, p) || (cfg_.isRetreating(p, meet) && !loops_.isHeader(meet))) return false;
    return true;
  }

  /// Gives each region the lowest barrier that no region uses which can be under way at the same time. A barrier
  /// belongs to the warp, and the sides of a branch run in any order, so that is every region but those that one has to
  /// leave before entering the other.
  void assignBarriers(unsigned barrierCount) {
    std::vector<ConvergenceRegion>& regions = plan_.regions;
    std::stable_sort(regions.begin(), regions.end(), [&](const ConvergenceRegion& a, const ConvergenceRegion& b) {
      return dominators_.preorderIndex(a.from) < dominators_.preorderIndex(b.from);
    });
    std::vector<ConvergenceRegion> kept;
    for (ConvergenceRegion r : regions) {
      std::uint32_t taken = 0;
      for (const ConvergenceRegion& other : kept) {
        const bool oneBehindTheOther =
            dominators_.dominates(other.meet, r.from) || dominators_.dominates(r.meet, other.from);
        if (!oneBehindTheOther) taken |= 1u << other.barrier;
      }
      while (taken >> r.barrier & 1)
        ++r.barrier;
      if (r.barrier < barrierCount)
        kept.push_back(r);
      else
        plan_.missed.push_back({r.meet, true});
    }
    regions = std::move(kept);
  }

  const Cfg& cfg_;
  const DomTree& dominators_;
  const DomTree& postDominators_;
  const Loops& loops_;
  ConvergencePlan plan_;
};

} // namespace

BarrierRange usableBarriers(const Function& function) {
  const unsigned all = function.module().target().registerCount(File::B);
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      if (instr.op == Op::CALL_EXTERN) return {kBarriersOfCallees, all - kBarriersOfCallees};
  return {0, all};
}

ConvergencePlan planConvergence(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators,
                                const Loops& loops, unsigned barrierCount, const std::vector<bool>& isDivergent) {
  return Planner(cfg, dominators, postDominators, loops).run(barrierCount, isDivergent);
}

} // namespace orias::ori

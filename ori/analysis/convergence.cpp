#include "ori/analysis/convergence.h"

#include "encoder/isa/target.h"
#include "ori/analysis/loop_meetings.h"
#include "ori/module.h"

#include <algorithm>
#include <map>
#include <optional>

namespace orias::ori {

namespace {

class Planner {
 public:
  Planner(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators, const Loops& loops)
      : cfg_(cfg), dominators_(dominators), postDominators_(postDominators), loops_(loops) {}

  ConvergencePlan run(unsigned barrierCount, const std::vector<bool>& isDivergent) {
    findRegions(isDivergent);
    assignBarriers(barrierCount, 0);
    const std::size_t needed = plan_.regions.size();
    findRegionsInLoops(isDivergent);
    assignBarriers(barrierCount, needed);
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
    for (auto [meet, from] : regionOf)
      if (std::optional<ConvergenceRegion> region = regionFrom(from, meet)) {
        if (!region->leaving.empty()) region->gathered = kNoId;
        plan_.regions.push_back(std::move(*region));
      } else {
        plan_.missed.push_back({meet, false});
      }
  }

  /// Where some lanes leave a loop in the middle of a round, its branches meet behind it: but those that stay shall not
  /// go apart into the next round.
  void findRegionsInLoops(const std::vector<bool>& isDivergent) {
    if (!loops_.isReducible()) return;
    struct Early {
      BlockId from, gathered;
    };
    LoopMeetings meetings(cfg_, loops_);
    std::map<BlockId, Early> regionOf; // by meet
    for (BlockId b : cfg_.reversePostOrder()) {
      if (!isDivergent[b]) continue;
      const BlockId last = postDominators_.idom(b);
      const bool neverMeets = last == kNoId || last == postDominators_.root();
      for (LoopId loop = loops_.innermost(b); loop != kNoId && (neverMeets || !loops_.contains(loop, last));
           loop = loops_.loop(loop).parent) {
        // Inner loops are left at different times; of the blocks of this one, several ways must lead on.
        if (loop == loops_.innermost(b) && waysWithin(loop, b) < 2) continue;
        BlockId meet = meetings.next(loop, b);
        while (meet != kNoId && loopInFrontOf(meet) != loop)
          meet = meetings.next(loop, meet);
        if (meet == kNoId) continue;
        auto [at, isNew] = regionOf.try_emplace(meet, Early{b, neverMeets ? kNoId : last});
        if (isNew) continue;
        at->second.from = dominators_.commonDominator(at->second.from, b);
        if (at->second.gathered != last) at->second.gathered = kNoId;
      }
    }
    std::vector<bool> isPlanned(cfg_.idCount());
    for (const ConvergenceRegion& region : plan_.regions)
      isPlanned[region.meet] = true;
    for (const auto& [meet, early] : regionOf) {
      std::optional<ConvergenceRegion> region;
      if (!isPlanned[meet]) region = regionFrom(early.from, meet);
      if (!region) continue;
      region->gathered = early.gathered != kNoId && isPlanned[early.gathered] ? early.gathered : kNoId;
      plan_.regions.push_back(std::move(*region));
    }
  }

  /// How many blocks of the loop lanes may go on to.
  unsigned waysWithin(LoopId loop, BlockId b) const {
    const auto successors = cfg_.successors(b);
    return static_cast<unsigned>(
        std::count_if(successors.begin(), successors.end(), [&](BlockId s) { return loops_.contains(loop, s); }));
  }

  /// The smallest sound region that ends in front of `meet` and begins at `from` or at a block that dominates it.
  std::optional<ConvergenceRegion> regionFrom(BlockId from, BlockId meet) const {
    BlockId d = from;
    // The barrier is set once for each time that it is waited for: both ends stand in the same loop.
    while (d != kNoId && (loops_.innermost(d) != loopInFrontOf(meet) || setsTwice(d, meet) ||
                          !dominators_.strictlyDominates(d, meet)))
      d = dominators_.idom(d);
    if (d == kNoId || !entriesComeFrom(d, meet) || waitsTwice(d, meet)) return std::nullopt;
    ConvergenceRegion region{d, meet, 0, {}, meet};
    if (postDominators_.strictlyDominates(meet, d)) return region;
    if (!loops_.isReducible() || !findLeaving(region)) return std::nullopt;
    return region;
  }

  /// Fills in the edges on which lanes leave; false where a lane may come back without having waited.
  bool findLeaving(ConvergenceRegion& region) const {
    // What leads to the meeting without passing its ends: `from` dominates all of it.
    std::vector<bool> isInside(cfg_.idCount());
    std::vector<BlockId> body{region.from};
    isInside[region.from] = isInside[region.meet] = true;
    auto add = [&](BlockId to) {
      for (BlockId p : cfg_.predecessors(to))
        if (cfg_.isReachable(p) && !isInside[p]) {
          isInside[p] = true;
          body.push_back(p);
        }
    };
    for (BlockId p : cfg_.predecessors(region.meet))
      if (cfg_.isReachable(p) && !cfg_.isRetreating(p, region.meet) && !isInside[p]) {
        isInside[p] = true;
        body.push_back(p);
      }
    for (std::size_t i = 1; i < body.size(); ++i)
      add(body[i]);

    const LoopId loop = loops_.innermost(region.from);
    for (BlockId b : body)
      for (BlockId s : cfg_.successors(b)) {
        if (s == region.from) return false;
        if (isInside[s]) continue;
        if (loop != kNoId && loops_.contains(loop, s)) return false;
        region.leaving.emplace_back(b, s);
      }
    return true;
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

  /// Gives each region from `first` on the lowest barrier that no region uses which can be under way at the same time.
  /// A barrier belongs to the warp, and the sides of a branch run in any order, so that is every region but those that
  /// all lanes have to leave before one enters the other. Without a barrier there is no region.
  void assignBarriers(unsigned barrierCount, std::size_t first) {
    std::vector<ConvergenceRegion>& regions = plan_.regions;
    const auto begin = regions.begin() + static_cast<std::ptrdiff_t>(first);
    std::stable_sort(begin, regions.end(), [&](const ConvergenceRegion& a, const ConvergenceRegion& b) {
      return dominators_.preorderIndex(a.from) < dominators_.preorderIndex(b.from);
    });
    std::vector<ConvergenceRegion> kept(regions.begin(), begin);
    for (std::size_t i = first; i < regions.size(); ++i) {
      ConvergenceRegion& r = regions[i];
      std::uint32_t taken = 0;
      for (const ConvergenceRegion& other : kept)
        if (!isOver(other, r) && !isOver(r, other)) taken |= 1u << other.barrier;
      while (taken >> r.barrier & 1)
        ++r.barrier;
      if (r.barrier < barrierCount)
        kept.push_back(std::move(r));
      else if (first == 0)
        plan_.missed.push_back({r.meet, true});
    }
    regions = std::move(kept);
  }

  /// Whether all lanes have met again behind the one region before any comes to the other.
  bool isOver(const ConvergenceRegion& one, const ConvergenceRegion& other) const {
    return one.gathered != kNoId && dominators_.dominates(one.gathered, other.from);
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

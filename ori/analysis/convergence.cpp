#include "ori/analysis/convergence.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/loop_meetings.h"
#include "ori/module.h"

#include <algorithm>
#include <map>
#include <optional>

namespace orias::ori {

namespace {

/// Steps on the ways through regions, over which it is not looked for circles.
constexpr std::size_t kMostSteps = 4'000'000;
/// A region without a barrier.
constexpr unsigned kNoBarrier = ~0u;
/// Little code that some lanes run a second time is cheaper than the barrier that would spare it, and BREAK on each
/// edge where lanes leave: in instructions.
constexpr unsigned kWorthMeeting = 12, kWorthLeaving = 6;
/// Regions of which all pairs are looked at.
constexpr std::size_t kMostBehindArms = 192;

class Planner {
 public:
  Planner(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators, const Loops& loops)
      : cfg_(cfg), dominators_(dominators), postDominators_(postDominators), loops_(loops), seen_(cfg.idCount()) {
    for (const Loop& loop : loops_.all()) // parents come first
      outermost_.push_back(loop.parent == kNoId ? static_cast<LoopId>(outermost_.size()) : outermost_[loop.parent]);
  }

  ConvergencePlan run(unsigned barrierCount, const std::vector<bool>& isDivergent, bool withJoins) {
    ownCount_ = barrierCount;
    findRegions(isDivergent);
    assignBarriers(barrierCount, 0, true);
    std::size_t planned = plan_.regions.size();
    findRegionsBesideExits(isDivergent);
    assignBarriers(barrierCount, planned, false);
    planned = plan_.regions.size();
    findRegionsInLoops(isDivergent);
    assignBarriers(barrierCount, planned, false);
    dropCircles();
    if (withJoins) {
      planned = plan_.regions.size();
      const std::vector<unsigned> sizes = sizesOfDominated();
      findRegionsOfJoins(isDivergent, sizes);
      dropCirclesOfJoins(planned, sizes);
      assignBarriers(barrierCount, planned, false);
    }
    return std::move(plan_);
  }

 private:
  /// Neither block can be passed on a cycle through the other: they have no loop in common. Only in reducible code.
  bool areOnNoCycle(BlockId a, BlockId b) const {
    const LoopId first = loops_.innermost(a), second = loops_.innermost(b);
    return first == kNoId || second == kNoId || outermost_[first] != outermost_[second];
  }

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
      // No BSYNC stands on a back edge: whoever comes to the header that way does not wait there for the others.
      if (loops_.isHeader(meet) && loops_.contains(loops_.innermost(meet), b)) {
        plan_.missed.push_back({meet, false});
        continue;
      }
      auto [at, isNew] = regionOf.emplace(meet, b);
      if (!isNew) at->second = dominators_.commonDominator(at->second, b);
    }
    isNeeded_.assign(cfg_.idCount(), false);
    for (auto [meet, from] : regionOf) {
      isNeeded_[meet] = true;
      std::optional<ConvergenceRegion> region = regionFrom(from, meet);
      if (region && !region->leaving.empty()) region->gathered = kNoId;
      // Outside of loops, those that leave early never come here. In a loop they may, rounds later.
      if (!region || (!region->leaving.empty() && loops_.innermost(region->from) != kNoId))
        plan_.missed.push_back({meet, false});
      if (region) plan_.regions.push_back(std::move(*region));
    }
  }

  /// Where branches meet late only because some lanes exit or trap elsewhere, those that do not can meet earlier.
  void findRegionsBesideExits(const std::vector<bool>& isDivergent) {
    if (!loops_.isReducible()) return;
    const ExitMeetings meetings(cfg_);
    std::map<BlockId, BlockId> regionOf; // meet -> from
    for (BlockId b : cfg_.reversePostOrder()) {
      if (!isDivergent[b] || meetings.ways(b) < 2) continue;
      const BlockId meet = meetings.next(b);
      if (meet == kNoId || meet == postDominators_.idom(b) || isNeeded_[meet]) continue;
      if (loops_.isHeader(meet) && loops_.contains(loops_.innermost(meet), b)) continue;
      auto [at, isNew] = regionOf.emplace(meet, b);
      if (!isNew) at->second = dominators_.commonDominator(at->second, b);
    }
    for (auto [meet, from] : regionOf) {
      std::optional<ConvergenceRegion> region = regionFrom(from, meet);
      if (!region) continue;
      region->gathered = kNoId;
      plan_.regions.push_back(std::move(*region));
    }
  }

  /// Where some lanes leave a loop in the middle of a round, its branches meet behind it: but those that stay shall not
  /// go apart into the next round. Neither shall those that begin the next round ahead of the block where they would
  /// meet, in a loop that is left only behind that block.
  void findRegionsInLoops(const std::vector<bool>& isDivergent) {
    if (!loops_.isReducible()) return;
    struct Early {
      BlockId from, gathered;
    };
    LoopMeetings meetings(cfg_, loops_);
    std::vector<bool> isMissed(cfg_.idCount());
    for (const MissedMeeting& missed : plan_.missed)
      isMissed[missed.meet] = true;
    std::map<BlockId, Early> regionOf; // by meet
    for (BlockId b : cfg_.reversePostOrder()) {
      if (!isDivergent[b]) continue;
      const BlockId last = postDominators_.idom(b);
      const bool neverMeets = last == kNoId || last == postDominators_.root();
      bool isLast = false;
      for (LoopId loop = loops_.innermost(b); loop != kNoId && !isLast; loop = loops_.loop(loop).parent) {
        isLast = !neverMeets && loops_.contains(loop, last);
        if (isLast && !isMissed[last]) break;
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
    std::vector<bool> isPlanned(cfg_.idCount()), isForAll(cfg_.idCount());
    for (const ConvergenceRegion& region : plan_.regions) {
      isPlanned[region.meet] = true;
      isForAll[region.meet] = region.leaving.empty() && !region.isShared;
    }
    for (const auto& [meet, early] : regionOf) {
      std::optional<ConvergenceRegion> region;
      if (!isPlanned[meet]) region = regionFrom(early.from, meet);
      if (!region) continue;
      region->gathered = early.gathered != kNoId && isForAll[early.gathered] ? early.gathered : kNoId;
      plan_.regions.push_back(std::move(*region));
    }
  }

  /// Where arms join, but some lanes go on from there while others went elsewhere before, as behind `if (a || b)`:
  /// those that come on different ways shall not run all of it twice until the branches meet.
  void findRegionsOfJoins(const std::vector<bool>& isDivergent, const std::vector<unsigned>& sizes) {
    if (!loops_.isReducible()) return;
    std::vector<bool> isPlanned(cfg_.idCount());
    std::vector<const ConvergenceRegion*> forAll(cfg_.idCount(), nullptr); // by meet
    for (const ConvergenceRegion& region : plan_.regions) {
      isPlanned[region.meet] = true;
      if (region.leaving.empty() && !region.isShared) forAll[region.meet] = &region;
    }
    const std::size_t planned = plan_.regions.size();
    bodies_.assign(planned, {});
    std::vector<ConvergenceRegion> found;
    for (BlockId meet : cfg_.reversePostOrder()) {
      const BlockId from = dominators_.idom(meet);
      if (from == kNoId || isPlanned[meet] || sizes[meet] < kWorthMeeting) continue;
      if (loops_.innermost(from) != loopInFrontOf(meet) || !entriesComeFrom(from, meet)) continue;
      const auto gathersAll = [&](BlockId b) { return forAll[b] && dominators_.dominates(forAll[b]->from, from); };
      BlockId last = postDominators_.idom(from);
      while (last < cfg_.idCount() && !gathersAll(last))
        last = postDominators_.idom(last);
      ConvergenceRegion region{from, meet, 0, {}, last < cfg_.idCount() ? last : kNoId};
      if (!findLeaving(region, true) || region.leaving.empty()) continue;
      if (sizes[meet] < kWorthLeaving * region.leaving.size()) continue;
      if (!partsAndMeets(region, isDivergent) || mayComeBack(region, planned)) continue;
      found.push_back(std::move(region));
    }
    std::ranges::move(found, std::back_inserter(plan_.regions));
  }

  /// By block: the instructions of all blocks that it dominates.
  std::vector<unsigned> sizesOfDominated() const {
    std::vector<unsigned> sizes(cfg_.idCount());
    const auto& order = cfg_.reversePostOrder();
    for (auto b = order.rbegin(); b != order.rend(); ++b) {
      for ([[maybe_unused]] const Instr& instr : *cfg_.function().block(*b))
        ++sizes[*b];
      if (const BlockId over = dominators_.idom(*b); over != kNoId) sizes[over] += sizes[*b];
    }
    return sizes;
  }

  /// Whether lanes go apart inside of a region that findLeaving() has just looked at and come to its end on different
  /// ways, and nothing on these ways waits for other lanes or may wait for what they do behind the meeting.
  bool partsAndMeets(const ConvergenceRegion& region, const std::vector<bool>& isDivergent) const {
    const auto isInside = [&](BlockId b) { return seen_[b] == stamp_; };
    bool parts = false;
    for (BlockId b : body_) {
      if (loops_.innermost(b) != loops_.innermost(region.from)) return false;
      for (const Instr& instr : *cfg_.function().block(b))
        if (waitsForLanes(instr.op)) return false;
      if (!isDivergent[b]) continue;
      const BlockId met = postDominators_.idom(b);
      const auto successors = cfg_.successors(b);
      const bool meetsBefore = met < cfg_.idCount() && met != region.meet && isInside(met);
      parts = parts || (!meetsBefore && std::ranges::count_if(successors, isInside) > 1);
    }
    return parts;
  }

  static bool waitsForLanes(Op op) {
    switch (op) {
    case Op::CALL_REL:
    case Op::CALL_FUNCTION:
    case Op::CALL_EXTERN: return true;
    default: break;
    }
    switch (isa::desc(op).latencyClass) {
    case isa::LatencyClass::Cbu:
    case isa::LatencyClass::Barrier:
    case isa::LatencyClass::Syncs:
    case isa::LatencyClass::WarpGroup: return true;
    default: return false;
    }
  }

  /// Whether a lane that leaves the region may come to its beginning again while others wait at its end: before it has
  /// waited, at the end of a region around this one, for all lanes that are in there.
  bool mayComeBack(const ConvergenceRegion& region, std::size_t planned) {
    std::vector<bool> isEnd(cfg_.idCount());
    for (std::size_t i = 0; i < planned; ++i) {
      const ConvergenceRegion& around = plan_.regions[i];
      if (around.isShared || !dominators_.dominates(around.from, region.from)) continue;
      if (bodies_[i].empty()) {
        findBody(around);
        bodies_[i].resize(cfg_.idCount());
        for (BlockId b : body_)
          bodies_[i][b] = true;
      }
      if (bodies_[i][region.meet]) isEnd[around.meet] = true;
    }
    return std::ranges::any_of(region.leaving, [&](const std::pair<BlockId, BlockId>& edge) {
      const auto look = [&](BlockId at, BlockId to) {
        return to == region.from ? Way::Found : isEnd[to] && isWait(at, to, to) ? Way::Ends : Way::GoesOn;
      };
      return look(edge.first, edge.second) == Way::GoesOn && anyWay(edge.second, look);
    });
  }

  /// How many blocks of the loop lanes may go on to.
  unsigned waysWithin(LoopId loop, BlockId b) const {
    const auto successors = cfg_.successors(b);
    return static_cast<unsigned>(
        std::count_if(successors.begin(), successors.end(), [&](BlockId s) { return loops_.contains(loop, s); }));
  }

  /// The smallest sound region that ends in front of `meet` and begins at `from` or at a block that dominates it.
  std::optional<ConvergenceRegion> regionFrom(BlockId from, BlockId meet) {
    const LoopId loop = loopInFrontOf(meet);
    GrowingBody body;
    for (BlockId d = from; d != kNoId; d = dominators_.idom(d)) {
      // A header dominates its loop: further up there is nothing of it.
      if (loop != kNoId && !dominators_.dominates(loops_.loop(loop).header, d)) return std::nullopt;
      // The barrier is set once for each time that it is waited for: both ends stand in the same loop.
      if (loops_.innermost(d) != loop || !dominators_.strictlyDominates(d, meet)) continue;
      if (!entriesComeFrom(d, meet) || waitsTwice(d, meet)) return std::nullopt;
      ConvergenceRegion region{d, meet, 0, {}, meet};
      // Where it cannot begin, and all lanes come to the meeting, some set the barrier twice.
      if (loops_.isReducible() && !mayBegin(body, region, loop)) continue;
      if (postDominators_.strictlyDominates(meet, d) && !setsTwice(d, meet)) return region;
      if (loops_.isReducible() && findLeaving(region)) return region;
    }
    return std::nullopt;
  }

  /// What leads to a meeting without passing it or the block that a region would begin at. It grows while that block
  /// goes up the dominator tree: findLeaving() would go over all of it for each block.
  struct GrowingBody {
    BlockId begin = kNoId; ///< inside, but what leads to it is not
    std::vector<bool> isInside;
    std::vector<BlockId> waysOut; ///< blocks of the loop that edges from inside led to when they were found
  };

  /// Whether findLeaving() finds a region from that block, which dominates those that were asked about before.
  bool mayBegin(GrowingBody& body, const ConvergenceRegion& region, LoopId loop) const {
    std::vector<BlockId> found; // inside, without what leads there
    const auto take = [&](BlockId b) {
      if (!cfg_.isReachable(b) || body.isInside[b]) return;
      body.isInside[b] = true;
      if (b != region.from) found.push_back(b);
      if (loop == kNoId) return;
      for (BlockId s : cfg_.successors(b))
        if (!body.isInside[s] && loops_.contains(loop, s)) body.waysOut.push_back(s);
    };
    if (body.begin == kNoId) {
      body.isInside.resize(cfg_.idCount());
      body.isInside[region.meet] = true;
      take(region.from);
      for (BlockId p : cfg_.predecessors(region.meet))
        if (!cfg_.isRetreating(p, region.meet)) take(p);
    } else {
      take(region.from);
      found.push_back(body.begin);
    }
    body.begin = region.from;
    while (!found.empty()) {
      const BlockId b = found.back();
      found.pop_back();
      for (BlockId p : cfg_.predecessors(b))
        take(p);
    }
    std::erase_if(body.waysOut, [&](BlockId s) { return body.isInside[s]; });
    return body.waysOut.empty() && std::ranges::none_of(cfg_.predecessors(region.from), [&](BlockId p) {
             return body.isInside[p] && p != region.meet;
           });
  }

  /// Puts into body_ what leads to the meeting without passing the ends of the region: `from` dominates all of it.
  /// stamp_ marks it, and the meeting.
  void findBody(const ConvergenceRegion& region) {
    ++stamp_;
    body_.clear();
    auto take = [&](BlockId b) {
      if (!cfg_.isReachable(b) || seen_[b] == stamp_) return;
      seen_[b] = stamp_;
      body_.push_back(b);
    };
    seen_[region.meet] = stamp_;
    take(region.from);
    for (BlockId p : cfg_.predecessors(region.meet))
      if (!cfg_.isRetreating(p, region.meet)) take(p);
    for (std::size_t i = 1; i < body_.size(); ++i)
      for (BlockId p : cfg_.predecessors(body_[i]))
        take(p);
  }

  /// Fills in the edges on which lanes leave; false where a lane may come back without having waited, or, if that is
  /// looked at elsewhere, where it stays in the loop.
  bool findLeaving(ConvergenceRegion& region, bool mayStayInLoop = false) {
    findBody(region);
    const auto isInside = [&](BlockId b) { return seen_[b] == stamp_; };
    const LoopId loop = loops_.innermost(region.from);
    for (BlockId b : body_)
      for (BlockId s : cfg_.successors(b)) {
        if (s == region.from) return false;
        if (isInside(s)) continue;
        if (loop != kNoId && loops_.contains(loop, s) && !mayStayInLoop) return false;
        region.leaving.emplace_back(b, s);
      }
    return true;
  }

  /// Whether a lane that set the barrier in `d` may come to `d` again without waiting in front of `meet`: by a back
  /// edge to a header that several loops have in common, or through a loop around that of `d`. Without loops it cannot.
  bool setsTwice(BlockId d, BlockId meet) {
    return anyWay(d, [&](BlockId from, BlockId to) {
      if (loops_.isReducible() && areOnNoCycle(d, to)) return Way::Ends;
      return to == d ? Way::Found : isWait(from, to, meet) ? Way::Ends : Way::GoesOn;
    });
  }

  /// Whether a lane that waited in front of `meet` may come there again without setting the barrier in `d`.
  bool waitsTwice(BlockId d, BlockId meet) {
    return !loops_.isReducible() && anyWay(meet, [&](BlockId from, BlockId to) {
      return to == d ? Way::Ends : isWait(from, to, meet) ? Way::Found : Way::GoesOn;
    });
  }

  /// The BSYNC stands on the ways into `meet` that are no back edges.
  bool isWait(BlockId from, BlockId to, BlockId meet) const { return to == meet && !cfg_.isRetreating(from, to); }

  enum class Way : std::uint8_t { GoesOn, Ends, Found };

  /// Follows all ways from a block; `look(from, to)` says what an edge means.
  template <typename Look> bool anyWay(BlockId start, const Look& look) {
    ++stamp_;
    std::vector<BlockId> work = {start};
    while (!work.empty()) {
      const BlockId at = work.back();
      work.pop_back();
      for (BlockId next : cfg_.successors(at)) {
        const Way way = look(at, next);
        if (way == Way::Found) return true;
        if (way == Way::Ends || seen_[next] == stamp_) continue;
        seen_[next] = stamp_;
        work.push_back(next);
      }
    }
    return false;
  }

  /// All ways into `meet`, but for the back edges of its own loop, come from blocks under `d`. A retreating edge that
  /// is no back edge may be the first way of a lane into `meet`.
  bool entriesComeFrom(BlockId d, BlockId meet) const {
    for (BlockId p : cfg_.predecessors(meet))
      if (!dominators_.dominates(d, p) || (cfg_.isRetreating(p, meet) && !dominators_.dominates(meet, p))) return false;
    return true;
  }

  /// Gives each region from `first` on the lowest barrier that no region uses which can be under way at the same time.
  /// A barrier belongs to the warp, and the sides of a branch run in any order, so that is every region but those that
  /// all lanes have to leave before one enters the other. Without a barrier there is no region; where regions are
  /// needed, the meeting is missed.
  ///
  /// So the regions of a barrier follow each other on one way down the dominator tree, each behind the meeting of the
  /// one before, and it is enough to look at the two between which a region would stand. Where that does not suffice,
  /// regions may also stand in arms of uniform branches that follow each other, as in the rounds of an unrolled loop:
  /// no meeting dominates the next region, and all regions of a barrier are looked at. Not where lanes may yield, for
  /// whom BSYNC does not wait.
  void assignBarriers(unsigned barrierCount, std::size_t first, bool areNeeded) {
    std::vector<ConvergenceRegion>& regions = plan_.regions;
    const auto begin = regions.begin() + static_cast<std::ptrdiff_t>(first);
    std::stable_sort(begin, regions.end(), [&](const ConvergenceRegion& a, const ConvergenceRegion& b) {
      return dominators_.preorderIndex(a.from) < dominators_.preorderIndex(b.from);
    });
    bool suffice = assignOwn(ownCount_, first);
    if (!suffice && areNeeded && regions.size() <= kMostBehindArms && !mayYield(cfg_.function())) {
      behindArms_ = true;
      suffice = behindArms_ = assignOwn(ownCount_, first);
    }
    if (!suffice && areNeeded) {
      // As few as do, and no more than half of them: what shares a barrier can be relied upon less.
      const std::size_t missed = plan_.missed.size();
      while (!suffice && ownCount_ > barrierCount / 2) {
        plan_.missed.resize(missed);
        assignOwn(--ownCount_, first);
        suffice = assignShared(barrierCount, first);
      }
    }
    std::erase_if(regions, [&](const ConvergenceRegion& r) { return r.barrier == kNoBarrier; });
  }

  bool assignOwn(unsigned barrierCount, std::size_t first) {
    if (!behindArms_)
      return assignOwn(barrierCount, first,
                       [&](const Users& users, std::uint32_t at, const Use& use) { return isFree(users, at, use); });
    regionAt_.assign(cfg_.idCount(), kNoId);
    for (std::uint32_t i = 0; i < plan_.regions.size(); ++i) {
      regionAt_[plan_.regions[i].meet] = i;
      if (i >= first) plan_.regions[i].barrier = kNoBarrier;
    }
    const auto areApart = [&](const Use& a, const Use& b) { return isOverBehindArms(a, b) || isOverBehindArms(b, a); };
    return assignOwn(barrierCount, first, [&](const Users& users, std::uint32_t, const Use& use) {
      return std::ranges::all_of(users, [&](const auto& user) { return areApart(user.second, use); });
    });
  }

  /// Barriers for the regions from `first` on that no other side of a branch uses; false where they did not suffice.
  template <typename IsFree> bool assignOwn(unsigned barrierCount, std::size_t first, const IsFree& isFree) {
    bool suffice = true;
    users_.assign(barrierCount, {});
    for (std::size_t i = 0; i < plan_.regions.size(); ++i) {
      ConvergenceRegion& r = plan_.regions[i];
      if (i >= first) r.isShared = false;
      if (r.isShared) continue;
      const Use use{r.from, dominators_.dominates(r.from, r.gathered) ? r.gathered : kNoId};
      const std::uint32_t at = dominators_.preorderIndex(r.from);
      if (i >= first) r.barrier = lowestFree(barrierCount, [&](const Users& users) { return isFree(users, at, use); });
      if (r.barrier != kNoBarrier)
        users_[r.barrier].emplace(at, use);
      else
        suffice = false;
    }
    return suffice;
  }

  template <typename IsFree> unsigned lowestFree(unsigned barrierCount, const IsFree& isFree) const {
    for (unsigned barrier = 0; barrier < barrierCount; ++barrier)
      if (isFree(users_[barrier])) return barrier;
    return kNoBarrier;
  }

  /// What has no barrier of its own takes one that other sides of branches may use as well, as long as none of its
  /// regions is around another. Of those that are around a region, the last one that was given the barrier is the only
  /// one that can be under way: each of the others had ended where it began.
  bool assignShared(unsigned barrierCount, std::size_t first) {
    bool suffice = true;
    std::vector<std::vector<const ConvergenceRegion*>> around(barrierCount); // the region at hand, by barrier
    std::vector<const ConvergenceRegion*> certain;                           // those with barriers of their own
    for (std::size_t i = first; i < plan_.regions.size(); ++i) {
      ConvergenceRegion& r = plan_.regions[i];
      keepAround(certain, r.from);
      if (r.barrier != kNoBarrier) {
        certain.push_back(&r);
        continue;
      }
      plan_.missed.push_back({r.meet, true, lastMeeting(certain, r.meet)});
      for (unsigned b = ownCount_; b < barrierCount && r.barrier == kNoBarrier; ++b) {
        keepAround(around[b], r.from);
        if (!around[b].empty() && !dominators_.dominates(around[b].back()->meet, r.from)) continue;
        around[b].push_back(&r);
        r.barrier = b;
        r.isShared = true;
      }
      suffice = suffice && r.barrier != kNoBarrier;
    }
    return suffice;
  }

  /// Leaves those regions whose beginnings dominate a block.
  void keepAround(std::vector<const ConvergenceRegion*>& regions, BlockId block) const {
    while (!regions.empty() && !dominators_.dominates(regions.back()->from, block))
      regions.pop_back();
  }

  /// The end of the innermost region around a block, of those that all lanes leave there.
  BlockId lastMeeting(const std::vector<const ConvergenceRegion*>& around, BlockId block) const {
    for (std::size_t i = around.size(); i-- > 0;) {
      const ConvergenceRegion& r = *around[i];
      if (r.leaving.empty() && r.meet != block && postDominators_.dominates(r.meet, block) &&
          !dominators_.dominates(r.meet, block))
        return r.meet;
    }
    return kNoId;
  }

  /// Where a region sets its barrier, and where all lanes have met again; see ConvergenceRegion::gathered.
  struct Use {
    BlockId from, gathered;
  };
  /// The regions of one barrier by the place of `from` in the preorder of the dominator tree.
  using Users = std::map<std::uint32_t, Use>;

  bool isFree(const Users& users, std::uint32_t at, const Use& use) const {
    const auto next = users.lower_bound(at);
    if (next != users.end() && (next->first == at || !isOver(use, next->second))) return false;
    return next == users.begin() || isOver(std::prev(next)->second, use);
  }

  /// By region: those whose meetings lanes wait at inside of it. Nothing where there are too many ways.
  std::optional<std::vector<std::vector<std::uint32_t>>> waitsInside() const {
    const std::vector<ConvergenceRegion>& regions = plan_.regions;
    std::vector<std::uint32_t> regionOf(cfg_.idCount(), kNoId); // by meet
    for (std::uint32_t i = 0; i < regions.size(); ++i)
      regionOf[regions[i].meet] = i;

    std::vector<std::vector<std::uint32_t>> waitsFor(regions.size());
    std::vector<std::uint32_t> seen(cfg_.idCount(), kNoId);
    std::vector<BlockId> work;
    std::size_t steps = 0;
    for (std::uint32_t i = 0; i < regions.size(); ++i) {
      const ConvergenceRegion& r = regions[i];
      work.assign(1, r.from);
      while (!work.empty()) {
        const BlockId at = work.back();
        work.pop_back();
        for (BlockId next : cfg_.successors(at)) {
          if (++steps > kMostSteps) return std::nullopt;
          const bool isMeeting = regionOf[next] != kNoId && isWait(at, next, next);
          if (isMeeting && regionOf[next] == i) continue;
          if (std::find(r.leaving.begin(), r.leaving.end(), std::pair(at, next)) != r.leaving.end()) continue;
          if (isMeeting) waitsFor[i].push_back(regionOf[next]);
          if (seen[next] == i) continue;
          seen[next] = i;
          work.push_back(next);
        }
      }
    }
    return waitsFor;
  }

  /// Lanes must not wait for each other in a circle: here for one that is held up at another meeting, which it has to
  /// wait for inside of the region. Regions that nobody leaves are nested; of the others, those in circles go.
  void dropCircles() {
    std::vector<ConvergenceRegion>& regions = plan_.regions;
    const auto isLeft = [](const ConvergenceRegion& r) { return !r.leaving.empty(); };
    if (std::none_of(regions.begin(), regions.end(), isLeft)) return;
    std::vector<bool> isFree(regions.size());
    if (const std::optional<std::vector<std::vector<std::uint32_t>>> waitsFor = waitsInside()) {
      std::vector<std::uint32_t> holdsUp(regions.size(), 0);
      for (const std::vector<std::uint32_t>& waits : *waitsFor)
        for (std::uint32_t other : waits)
          ++holdsUp[other];

      // What no circle leads to is taken away until nothing changes.
      std::vector<std::uint32_t> free;
      for (std::uint32_t i = 0; i < regions.size(); ++i)
        if (holdsUp[i] == 0) free.push_back(i);
      while (!free.empty()) {
        const std::uint32_t i = free.back();
        free.pop_back();
        isFree[i] = true;
        for (std::uint32_t other : (*waitsFor)[i])
          if (--holdsUp[other] == 0) free.push_back(other);
      }
    }
    std::vector<ConvergenceRegion> kept;
    for (std::uint32_t i = 0; i < regions.size(); ++i)
      if (isFree[i] || !isLeft(regions[i]))
        kept.push_back(std::move(regions[i]));
      else if (isNeeded_[regions[i].meet])
        plan_.missed.push_back({regions[i].meet, false});
    regions = std::move(kept);
  }

  /// The same for joins: the regions from `first` on, as few as it takes, those first that spare the least code. The
  /// others are in no circle.
  void dropCirclesOfJoins(std::size_t first, const std::vector<unsigned>& sizes) {
    std::vector<ConvergenceRegion>& regions = plan_.regions;
    if (first == regions.size()) return;
    const std::optional<std::vector<std::vector<std::uint32_t>>> waitsFor = waitsInside();
    if (!waitsFor) return regions.resize(first);
    std::vector<std::vector<std::uint32_t>> heldUpBy(regions.size());
    std::vector<std::size_t> waits(regions.size()), holdsUp(regions.size());
    std::vector<std::uint32_t> free, bySize;
    for (std::uint32_t i = 0; i < regions.size(); ++i) {
      waits[i] = (*waitsFor)[i].size();
      for (std::uint32_t other : (*waitsFor)[i]) {
        heldUpBy[other].push_back(i);
        ++holdsUp[other];
      }
      if (i >= first) bySize.push_back(i);
    }
    std::ranges::stable_sort(bySize, {}, [&](std::uint32_t i) { return sizes[regions[i].meet]; });
    for (std::uint32_t i = 0; i < regions.size(); ++i)
      if (waits[i] == 0 || holdsUp[i] == 0) free.push_back(i);
    std::vector<bool> isOut(regions.size()), isDropped(regions.size());
    const auto takeOut = [&] { // what is in no circle
      while (!free.empty()) {
        const std::uint32_t i = free.back();
        free.pop_back();
        if (isOut[i]) continue;
        isOut[i] = true;
        for (std::uint32_t other : (*waitsFor)[i])
          if (--holdsUp[other] == 0) free.push_back(other);
        for (std::uint32_t other : heldUpBy[i])
          if (--waits[other] == 0) free.push_back(other);
      }
    };
    takeOut();
    for (std::uint32_t i : bySize) {
      if (isOut[i]) continue;
      isDropped[i] = true;
      free.push_back(i);
      takeOut();
    }
    std::size_t at = first;
    for (std::size_t i = first; i < regions.size(); ++i)
      if (!isDropped[i]) {
        if (at != i) regions[at] = std::move(regions[i]);
        ++at;
      }
    regions.resize(at);
  }

  /// Whether all lanes have met again behind the one region before any comes to the other.
  bool isOver(const Use& one, const Use& other) const {
    return one.gathered != kNoId && dominators_.dominates(one.gathered, other.from);
  }

  /// The same, also where lanes go together from the end of the one region to the other through blocks that do not
  /// dominate it: to where no divergent branch meets, or where a region with a barrier of its own gathers them.
  bool isOverBehindArms(const Use& one, const Use& other) const {
    BlockId at = one.gathered;
    while (at != kNoId && !dominators_.dominates(at, other.from)) {
      const BlockId meet = postDominators_.idom(at);
      if (meet == kNoId || meet == postDominators_.root()) return false;
      const std::uint32_t around = regionAt_[meet];
      if (around == kNoId && !isNeeded_[meet]) {
        at = meet;
        continue;
      }
      if (around == kNoId) return false;
      const ConvergenceRegion& r = plan_.regions[around];
      at = r.barrier == kNoBarrier || r.isShared ? kNoId : r.gathered;
    }
    return at != kNoId;
  }

  const Cfg& cfg_;
  const DomTree& dominators_;
  const DomTree& postDominators_;
  const Loops& loops_;
  std::vector<LoopId> outermost_;   ///< by loop: the one around it that is in no other
  std::vector<BlockId> body_;       ///< what findBody() found inside of the region
  std::vector<std::uint32_t> seen_; ///< by block: the walk (stamp_) that has come there last
  std::uint32_t stamp_ = 0;
  unsigned ownCount_ = 0;                 ///< barriers that only one side of a branch uses
  std::vector<Users> users_;              ///< by barrier
  bool behindArms_ = false;               ///< regions of a barrier need not dominate each other
  std::vector<std::uint32_t> regionAt_;   ///< by block: the region that meets there; for behindArms_
  std::vector<std::vector<bool>> bodies_; ///< by region, where it was asked for: its body, by block
  std::vector<bool> isNeeded_;            ///< by block: lanes of a divergent branch meet here at the latest
  ConvergencePlan plan_;
};

bool has(const Function& function, Op op) {
  if (!function.everHad(op)) return false;
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      if (instr.op == op) return true;
  return false;
}

} // namespace

BarrierRange usableBarriers(const Function& function) {
  const unsigned all = function.module().target().registerCount(File::B);
  if (has(function, Op::CALL_EXTERN) || has(function, Op::CALL_FUNCTION))
    return {kBarriersOfCallees, all - kBarriersOfCallees};
  return {0, function.isKernel() ? all : kBarriersOfCallees};
}

bool mayRunApart(const Function& function) {
  return !function.isKernel() || has(function, Op::CALL_FUNCTION);
}

bool mayYield(const Function& function) {
  return function.everHad(Op::YIELD) || function.everHad(Op::NANOSLEEP);
}

std::vector<std::vector<BlockId>> blocksBehindYields(const Cfg& cfg, const DomTree& postDominators) {
  const Function& function = cfg.function();
  if (!mayYield(function)) return {};
  const auto yieldsIn = [&](BlockId id) {
    for (const Instr& instr : *function.block(id))
      if (letsOthersRun(instr.op)) return true;
    return false;
  };
  const auto gathersIn = [&](BlockId id) {
    for (const Instr& instr : *function.block(id))
      if (instr.op == Op::WARPSYNC_ALL && !instr.isGuarded()) return true;
    return false;
  };
  std::map<BlockId, std::vector<BlockId>> yields; // by the end
  for (BlockId id : cfg.reversePostOrder()) {
    if (!yieldsIn(id)) continue;
    BlockId end = postDominators.idom(id);
    while (end < cfg.idCount() && !gathersIn(end))
      end = postDominators.idom(end);
    yields[end < cfg.idCount() ? end : kNoId].push_back(id);
  }
  std::vector<std::vector<BlockId>> all;
  for (auto& [end, blocks] : yields) {
    std::vector<bool> isIn(cfg.idCount());
    for (BlockId id : blocks)
      isIn[id] = true;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == end) continue;
      for (BlockId next : cfg.successors(blocks[i]))
        if (!isIn[next]) {
          isIn[next] = true;
          blocks.push_back(next);
        }
    }
    all.push_back(std::move(blocks));
  }
  return all;
}

ConvergencePlan planConvergence(const Cfg& cfg, const DomTree& dominators, const DomTree& postDominators,
                                const Loops& loops, unsigned barrierCount, const std::vector<bool>& isDivergent,
                                bool withJoins) {
  return Planner(cfg, dominators, postDominators, loops).run(barrierCount, isDivergent, withJoins);
}

} // namespace orias::ori

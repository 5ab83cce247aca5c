#include "ori/analysis/convergence.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/convergence_cycles.h"
#include "ori/analysis/loop_reconvergence.h"
#include "ori/module.h"

#include <algorithm>
#include <map>
#include <optional>

namespace orias::ori {

namespace {

/// A region without a barrier.
constexpr unsigned kNoBarrier = ~0u;
/// A join gets a barrier only if the code that would execute once per arm has more instructions than this: for the
/// barrier, and in all arms but one, for the BREAK on each edge where lanes leave.
constexpr unsigned kMinJoinedCode = 12, kMinCodePerExit = 6;
/// Longer code counts as this many instructions, so that planning takes linear time in long functions.
constexpr unsigned kMaxJoinedCode = 1'000;
/// The maximum number of joins with one immediate dominator that may get barriers, the first ones. Their regions
/// overlap, so each needs a barrier of its own, and there are 16.
constexpr unsigned kMaxJoinsOfBlock = 64;
/// The maximum number of regions of which all pairs are compared.
constexpr std::size_t kMaxRegionsAfterArms = 192;

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
    for (BlockId meet : dropCyclesOfWaits(cfg_, plan_.regions))
      if (isNeeded_[meet]) plan_.missed.push_back({meet, false});
    if (withJoins) {
      planned = plan_.regions.size();
      const std::vector<unsigned> saved = findRegionsOfJoins(isDivergent);
      dropCyclesOfWaits(cfg_, plan_.regions, planned, saved);
      assignBarriers(barrierCount, planned, false);
    }
    return std::move(plan_);
  }

 private:
  /// Whether no cycle contains both blocks: they share no loop. Only for reducible code.
  bool areOnNoCycle(BlockId a, BlockId b) const {
    const LoopId first = loops_.innermost(a), second = loops_.innermost(b);
    return first == kNoId || second == kNoId || outermost_[first] != outermost_[second];
  }

  /// The loop that contains a BSYNC before `meet`. Before a header is outside its loop.
  LoopId loopBefore(BlockId meet) const {
    const LoopId loop = loops_.innermost(meet);
    return loop != kNoId && loops_.isHeader(meet) ? loops_.loop(loop).parent : loop;
  }

  void findRegions(const std::vector<bool>& isDivergent) {
    std::map<BlockId, BlockId> regionOf; // meet -> from
    for (BlockId b : cfg_.reversePostOrder()) {
      if (!isDivergent[b]) continue;
      const BlockId meet = postDominators_.idom(b);
      if (meet == kNoId || meet == postDominators_.root()) continue; // only the end of the program
      // There is no BSYNC on a back edge: lanes that reach the header that way do not wait there for the others.
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
      // Outside loops, lanes that leave early never get here. In a loop they may, in a later iteration.
      if (!region || (!region->leaving.empty() && loops_.innermost(region->from) != kNoId))
        plan_.missed.push_back({meet, false});
      if (region) plan_.regions.push_back(std::move(*region));
    }
  }

  /// Early exits and traps move the post-dominator of a branch down. The other lanes can reconverge before it.
  void findRegionsBesideExits(const std::vector<bool>& isDivergent) {
    if (!loops_.isReducible()) return;
    const ExitReconvergence meetings(cfg_);
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

  /// If some lanes leave a loop in the middle of an iteration, the branches of the loop reconverge after it. The lanes
  /// that stay should reconverge before the next iteration. So should lanes that would begin the next iteration before
  /// the block where they reconverge, in a loop whose only exits are after that block.
  void findRegionsInLoops(const std::vector<bool>& isDivergent) {
    if (!loops_.isReducible()) return;
    struct Early {
      BlockId from, gathered;
    };
    LoopReconvergence meetings(cfg_, loops_);
    std::vector<bool> isMissed(cfg_.idCount());
    for (const UnsyncedReconvergence& missed : plan_.missed)
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
        // Lanes leave inner loops at different times. Several paths must lead on from the blocks of this loop.
        if (loop == loops_.innermost(b) && waysWithin(loop, b) < 2) continue;
        BlockId meet = meetings.next(loop, b);
        while (meet != kNoId && loopBefore(meet) != loop)
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

  /// Joins before the immediate post-dominator, as after `if (a || b)`: some lanes continue from the join while others
  /// took another path. Without a barrier, the code from the join to the post-dominator would run once per arm. Returns
  /// the number of instructions that each region saves, by `meet`.
  std::vector<unsigned> findRegionsOfJoins(const std::vector<bool>& isDivergent) {
    std::vector<unsigned> saved(cfg_.idCount());
    if (!loops_.isReducible()) return saved;
    const std::vector<unsigned> sizes = sizesOfDominated();
    std::vector<bool> isPlanned(cfg_.idCount());
    std::vector<const ConvergenceRegion*> forAll(cfg_.idCount(), nullptr); // by meet
    for (const ConvergenceRegion& region : plan_.regions) {
      isPlanned[region.meet] = true;
      if (region.leaving.empty() && !region.isShared) forAll[region.meet] = &region;
    }
    const std::size_t planned = plan_.regions.size();
    bodies_.assign(planned, {});
    std::vector<ConvergenceRegion> found;
    // The last joins come first: earlier ones save only the code before them.
    const std::vector<BlockId> joins = firstJoins();
    for (auto at = joins.rbegin(); at != joins.rend(); ++at) {
      const BlockId meet = *at, from = dominators_.idom(meet);
      if (isPlanned[meet]) continue;
      if (loops_.innermost(from) != loopBefore(meet) || !entriesComeFrom(from, meet)) continue;
      const unsigned code = codeFrom(meet, sizes, isPlanned);
      if (code < kMinJoinedCode) continue;
      ConvergenceRegion region{from, meet, 0, {}, kNoId};
      if (!findLeaving(region, true) || region.leaving.empty()) continue;
      saved[meet] = code * splitsThatMeet(region, isDivergent);
      if (saved[meet] < std::max<std::size_t>(kMinCodePerExit * region.leaving.size(), 1)) continue;
      if (mayComeBack(region, planned)) continue;
      const auto gathersAll = [&](BlockId b) { return forAll[b] && dominators_.dominates(forAll[b]->from, from); };
      BlockId last = postDominators_.idom(from);
      while (last < cfg_.idCount() && !gathersAll(last))
        last = postDominators_.idom(last);
      if (last < cfg_.idCount()) region.gathered = last;
      isPlanned[meet] = true;
      found.push_back(std::move(region));
    }
    plan_.regions.insert(plan_.regions.end(), std::move_iterator(found.rbegin()), std::move_iterator(found.rend()));
    return saved;
  }

  /// The blocks with several predecessors, in reverse postorder; of each immediate dominator, the first ones.
  std::vector<BlockId> firstJoins() const {
    std::vector<BlockId> joins;
    std::vector<unsigned> counts(cfg_.idCount()); // by immediate dominator
    for (BlockId b : cfg_.reversePostOrder()) {
      const BlockId from = dominators_.idom(b);
      if (from == kNoId || cfg_.predecessors(b).size() < 2) continue;
      if (counts[from]++ < kMaxJoinsOfBlock) joins.push_back(b);
    }
    return joins;
  }

  /// The number of instructions that lanes execute from a block to the next reconvergence point: those in blocks on all
  /// paths, and in the blocks that these dominate.
  unsigned codeFrom(BlockId meet, const std::vector<unsigned>& sizes, const std::vector<bool>& isPlanned) const {
    unsigned code = sizes[meet];
    BlockId counted = meet;
    for (BlockId b = postDominators_.idom(meet); b < cfg_.idCount() && !isPlanned[b] && code < kMaxJoinedCode;
         b = postDominators_.idom(b)) {
      if (loops_.innermost(b) != loops_.innermost(meet)) break;
      if (dominators_.dominates(counted, b)) continue;
      code += sizes[b];
      counted = b;
    }
    return code;
  }

  /// By block: the number of instructions in all blocks that it dominates.
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

  /// The number of branches within the region of the last findLeaving() where lanes diverge that reach its end on
  /// different paths. None if an instruction on these paths waits for other lanes, or may wait for what they do after
  /// the reconvergence point.
  unsigned splitsThatMeet(const ConvergenceRegion& region, const std::vector<bool>& isDivergent) const {
    const auto isInside = [&](BlockId b) { return seen_[b] == stamp_; };
    unsigned splits = 0;
    for (BlockId b : body_) {
      if (loops_.innermost(b) != loops_.innermost(region.from)) return 0;
      for (const Instr& instr : *cfg_.function().block(b))
        if (waitsForLanes(instr.op)) return 0;
      if (!isDivergent[b]) continue;
      const BlockId met = postDominators_.idom(b);
      const auto successors = cfg_.successors(b);
      const bool meetsBefore = met < cfg_.idCount() && met != region.meet && isInside(met);
      if (!meetsBefore && std::ranges::count_if(successors, isInside) > 1) ++splits;
    }
    return splits;
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

  /// Whether a lane that leaves the region may reach its beginning again while others wait at its end. It may not if it
  /// first waits at the end of an enclosing region for all lanes inside.
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

  /// The number of blocks of the loop that lanes may continue in.
  unsigned waysWithin(LoopId loop, BlockId b) const {
    const auto successors = cfg_.successors(b);
    return static_cast<unsigned>(
        std::count_if(successors.begin(), successors.end(), [&](BlockId s) { return loops_.contains(loop, s); }));
  }

  /// The smallest sound region that ends before `meet` and begins at `from` or at a dominator of it.
  std::optional<ConvergenceRegion> regionFrom(BlockId from, BlockId meet) {
    const LoopId loop = loopBefore(meet);
    GrowingBody body;
    for (BlockId d = from; d != kNoId; d = dominators_.idom(d)) {
      // A header dominates its loop: no dominator of the header is in the loop.
      if (loop != kNoId && !dominators_.dominates(loops_.loop(loop).header, d)) return std::nullopt;
      // The barrier is set once for each wait, so both ends must be in the same loop.
      if (loops_.innermost(d) != loop || !dominators_.strictlyDominates(d, meet)) continue;
      if (!entriesComeFrom(d, meet) || waitsTwice(d, meet)) return std::nullopt;
      ConvergenceRegion region{d, meet, 0, {}, meet};
      // If the region cannot begin here, and all lanes reach the reconvergence point, some set the barrier twice.
      if (loops_.isReducible() && !mayBegin(body, region, loop)) continue;
      if (postDominators_.strictlyDominates(meet, d) && !setsTwice(d, meet)) return region;
      if (loops_.isReducible() && findLeaving(region)) return region;
    }
    return std::nullopt;
  }

  /// The blocks that lead to a reconvergence point without passing it or the block where the region would begin. The
  /// set grows as that block moves up the dominator tree; findLeaving() would visit all of it for each block.
  struct GrowingBody {
    BlockId begin = kNoId; ///< inside, but its predecessors are not
    std::vector<bool> isInside;
    std::vector<BlockId> waysOut; ///< blocks of the loop that are targets of edges from inside
  };

  /// Whether findLeaving() finds a region from that block. It must dominate the blocks of earlier calls.
  bool mayBegin(GrowingBody& body, const ConvergenceRegion& region, LoopId loop) const {
    std::vector<BlockId> found; // inside, predecessors not yet visited
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

  /// Collects in body_ the blocks that lead to the reconvergence point without passing the ends of the region. `from`
  /// dominates all of them. Marks them and the reconvergence point with stamp_.
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

  /// Collects the edges on which lanes leave. Returns false if a lane may come back without having waited, or, if the
  /// caller checks that, if it stays in the loop.
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

  /// Whether a lane that set the barrier in `d` may reach `d` again without waiting before `meet`: by a back edge to a
  /// header that several loops share, or through a loop around that of `d`. Without loops it cannot.
  bool setsTwice(BlockId d, BlockId meet) {
    return anyWay(d, [&](BlockId from, BlockId to) {
      if (loops_.isReducible() && areOnNoCycle(d, to)) return Way::Ends;
      return to == d ? Way::Found : isWait(from, to, meet) ? Way::Ends : Way::GoesOn;
    });
  }

  /// Whether a lane that waited before `meet` may get there again without setting the barrier in `d`.
  bool waitsTwice(BlockId d, BlockId meet) {
    return !loops_.isReducible() && anyWay(meet, [&](BlockId from, BlockId to) {
      return to == d ? Way::Ends : isWait(from, to, meet) ? Way::Found : Way::GoesOn;
    });
  }

  /// The BSYNC is on the edges into `meet` that are no back edges.
  bool isWait(BlockId from, BlockId to, BlockId meet) const { return to == meet && !cfg_.isRetreating(from, to); }

  enum class Way : std::uint8_t { GoesOn, Ends, Found };

  /// Follows all paths from a block; `look(from, to)` returns what to do with an edge.
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

  /// Whether `d` dominates the sources of all edges into `meet`, except the back edges of its loop. A retreating edge
  /// that is no back edge may be the first edge of a lane into `meet`.
  bool entriesComeFrom(BlockId d, BlockId meet) const {
    for (BlockId p : cfg_.predecessors(meet))
      if (!dominators_.dominates(d, p) || (cfg_.isRetreating(p, meet) && !dominators_.dominates(meet, p))) return false;
    return true;
  }

  /// Assigns to each region from `first` on the lowest barrier that no simultaneously active region uses. A barrier
  /// belongs to the warp, and the arms of a branch execute in any order. So two regions may be active simultaneously
  /// unless all lanes leave one before any enters the other. A region without a barrier is dropped; if it was needed,
  /// its reconvergence point counts as missed.
  ///
  /// So the regions of a barrier are on one path down the dominator tree, each after the reconvergence point of the
  /// previous one, and a new region is compared with its two neighbors only. If there are too few barriers, regions of
  /// one barrier may also be in arms of consecutive uniform branches, as in an unrolled loop. There no reconvergence
  /// point dominates the next region, and a new region is compared with all regions of the barrier. This is not done
  /// where lanes may yield, for which BSYNC does not wait.
  void assignBarriers(unsigned barrierCount, std::size_t first, bool areNeeded) {
    std::vector<ConvergenceRegion>& regions = plan_.regions;
    const auto begin = regions.begin() + static_cast<std::ptrdiff_t>(first);
    std::stable_sort(begin, regions.end(), [&](const ConvergenceRegion& a, const ConvergenceRegion& b) {
      return dominators_.preorderIndex(a.from) < dominators_.preorderIndex(b.from);
    });
    bool suffice = assignOwn(ownCount_, first);
    if (!suffice && areNeeded && regions.size() <= kMaxRegionsAfterArms && !mayYield(cfg_.function())) {
      afterArms_ = true;
      suffice = afterArms_ = assignOwn(ownCount_, first);
    }
    if (!suffice && areNeeded) {
      // As few as possible, and at most half of them: analyses cannot rely on regions that share a barrier.
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
    if (!afterArms_)
      return assignOwn(barrierCount, first,
                       [&](const Users& users, std::uint32_t at, const Use& use) { return isFree(users, at, use); });
    regionAt_.assign(cfg_.idCount(), kNoId);
    for (std::uint32_t i = 0; i < plan_.regions.size(); ++i) {
      regionAt_[plan_.regions[i].meet] = i;
      if (i >= first) plan_.regions[i].barrier = kNoBarrier;
    }
    const auto areApart = [&](const Use& a, const Use& b) { return isOverAfterArms(a, b) || isOverAfterArms(b, a); };
    return assignOwn(barrierCount, first, [&](const Users& users, std::uint32_t, const Use& use) {
      return std::ranges::all_of(users, [&](const auto& user) { return areApart(user.second, use); });
    });
  }

  /// Assigns barriers that no other arm of a branch uses to the regions from `first` on. Returns false if there are too
  /// few.
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

  /// Assigns barriers that other arms of branches may use as well to the remaining regions, if no region of the barrier
  /// contains another. Of the regions around a region, only the last one with that barrier can be active: the others
  /// had ended where it began.
  bool assignShared(unsigned barrierCount, std::size_t first) {
    bool suffice = true;
    std::vector<std::vector<const ConvergenceRegion*>> around(barrierCount); // the current region, by barrier
    std::vector<const ConvergenceRegion*> certain;                           // regions with barriers of their own
    for (std::size_t i = first; i < plan_.regions.size(); ++i) {
      ConvergenceRegion& r = plan_.regions[i];
      keepAround(certain, r.from);
      if (r.barrier != kNoBarrier) {
        certain.push_back(&r);
        continue;
      }
      plan_.missed.push_back({r.meet, true, lastReconvergence(certain, r.meet)});
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

  /// Removes the regions whose beginnings do not dominate the block.
  void keepAround(std::vector<const ConvergenceRegion*>& regions, BlockId block) const {
    while (!regions.empty() && !dominators_.dominates(regions.back()->from, block))
      regions.pop_back();
  }

  /// The end of the innermost region around a block that all lanes leave at its end.
  BlockId lastReconvergence(const std::vector<const ConvergenceRegion*>& around, BlockId block) const {
    for (std::size_t i = around.size(); i-- > 0;) {
      const ConvergenceRegion& r = *around[i];
      if (r.leaving.empty() && r.meet != block && postDominators_.dominates(r.meet, block) &&
          !dominators_.dominates(r.meet, block))
        return r.meet;
    }
    return kNoId;
  }

  /// Where a region sets its barrier, and where all lanes have reconverged; see ConvergenceRegion::gathered.
  struct Use {
    BlockId from, gathered;
  };
  /// The regions of one barrier, by the position of `from` in the preorder of the dominator tree.
  using Users = std::map<std::uint32_t, Use>;

  bool isFree(const Users& users, std::uint32_t at, const Use& use) const {
    const auto next = users.lower_bound(at);
    if (next != users.end() && (next->first == at || !isOver(use, next->second))) return false;
    return next == users.begin() || isOver(std::prev(next)->second, use);
  }

  /// Whether all lanes have reconverged after one region before any reaches the other.
  bool isOver(const Use& one, const Use& other) const {
    return one.gathered != kNoId && dominators_.dominates(one.gathered, other.from);
  }

  /// The same, but lanes may also go together from the end of one region to the other through blocks that do not
  /// dominate it. No divergent branch may reconverge there, unless by a region with a barrier of its own.
  bool isOverAfterArms(const Use& one, const Use& other) const {
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
  std::vector<LoopId> outermost_;   ///< by loop: the outermost loop around it
  std::vector<BlockId> body_;       ///< the blocks of the region, from findBody()
  std::vector<std::uint32_t> seen_; ///< by block: the last walk (stamp_) that reached it
  std::uint32_t stamp_ = 0;
  unsigned ownCount_ = 0;                 ///< barriers that only one arm of a branch uses
  std::vector<Users> users_;              ///< by barrier
  bool afterArms_ = false;                ///< regions of a barrier need not dominate each other
  std::vector<std::uint32_t> regionAt_;   ///< by block: the region that ends there; for afterArms_
  std::vector<std::vector<bool>> bodies_; ///< by region, computed on request: its body, by block
  std::vector<bool> isNeeded_;            ///< by block: the immediate post-dominator of a divergent branch
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

bool mayRunDivergent(const Function& function) {
  return !function.isKernel() || has(function, Op::CALL_FUNCTION);
}

bool mayYield(const Function& function) {
  return function.everHad(Op::YIELD) || function.everHad(Op::NANOSLEEP);
}

std::vector<std::vector<BlockId>> blocksAfterYields(const Cfg& cfg, const DomTree& postDominators) {
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

#include "encoder/code.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/block_frequency.h"
#include "ori/analysis/live_counter.h"
#include "ori/setmaxnreg.h"
#include "phases/list_schedule.h"
#include "phases/occupancy.h"
#include "phases/phases.h"
#include "phases/region_orders.h"
#include "phases/remat/block_engine.h"
#include "phases/spill_estimate.h"
#include "phases/split_components.h"
#include "regalloc/allocate.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <optional>

namespace orias::phases {

namespace {

constexpr double kSchedulers = 4;
/// The estimated gain, as a share of the cycles, required to leave the source order's occupancy class.
constexpr double kGainForFewerWarps = 0.03, kGainForMoreWarps = 0.01;
/// If a class with twice the warps makes the launch longer by at most this share, its warps are worth this share of the
/// cycles; less where it has fewer. The launch's dynamic shared memory is not known here, and seldom limits the warps
/// more than registers do.
constexpr double kMaxLongerLaunch = 0.33, kWorthOfWarps = 1;
/// The same limit where a class's own schedules are too slow, and rematerialization makes faster ones fit.
constexpr double kMaxLongerUnpromised = 0.05;
/// If rematerialization for a class makes the launch longer by this share, the next class is tried, too.
constexpr double kDear = 0.1;
/// Rematerialization may free at most this many registers, or this share of them, to reach an occupancy class:
/// constants that a loop reads may fill the register file.
constexpr unsigned kReach = 32;
constexpr double kShareToReach = 0.75;
/// The most classes that rematerialization is tried for, those with the most warps first; in large functions one. The
/// second: how many classes beyond the nearest are tried where rematerialization reaches them.
constexpr unsigned kMaxClasses = 3, kMaxFarClasses = 2;
/// Schedules of a larger class are tried with rematerialization, too, if they make the launch shorter by this share.
constexpr double kGainOfFasterOrders = 0.08;
constexpr std::size_t kLarge = 50'000; ///< instructions times schedules
/// Instructions times schedules that one function may try. Beyond that, each region gets few schedules.
constexpr std::size_t kBudget = 400'000;
/// The share of the cycles that a schedule must gain to be preferred to an earlier one.
constexpr double kGainForOrder = 0.02;
/// Schedules whose cycles differ by at most this share are equal. Of these, one with at most this share of the
/// registers spreads loads and address arithmetic over the code, where other warps fill the waits. The estimate only
/// has their sum.
constexpr double kEqualOrders = 0.01, kFewRegisters = 0.75;
/// A schedule that finishes one operand tree after another is also kept if it needs at most this share of the registers
/// of all others.
constexpr double kFarFewer = 0.6;
/// The same for one that does so bottom-up, from the last instruction to the first.
constexpr double kFewerByTrees = 0.8;
/// Cycles that spill code adds to a schedule. A reload precedes its reader, which waits for it (observed on the
/// emulator: 50 to 120 cycles each).
constexpr double kStoreCycles = 8, kReloadCycles = 64;
/// The same for predicates, which are spilled to vector registers.
constexpr double kPredicateStoreCycles = 4, kPredicateReloadCycles = 6;
/// Cycles for which each of these instructions takes its pipe.
constexpr double kPredicatePipeCycles = 2;
/// The share of a schedule's length that no other warp hides.
constexpr double kShareOfLength = 0.05;
/// The most limits that are tried for a region, and the most further ones below what its schedules need.
constexpr std::size_t kMaxLimits = 6;
constexpr unsigned kMaxFurther = 4;
/// The most registers of a class that schedules leave free where the allocator cannot allocate all values.
constexpr unsigned kMaxSlack = 15;
/// Rematerialization targets this many registers below the class, one after the other: the allocator may not be able to
/// allocate all values if they fill the class.
constexpr unsigned kRoom[] = {0, 1, 3};
/// Allocation is checked when the schedules leave at most this many registers of the class free.
constexpr unsigned kTight = 3;

/// A schedule of a region, and its cost.
struct Candidate {
  Order order;
  OrderCost cost;
  SpillCode spills, predicateSpills; ///< independent of the class
};

/// A region and its candidate schedules. The first is the source order.
struct Region {
  BlockRegion place;
  std::unique_ptr<ScheduleRegion> model;
  std::vector<Candidate> candidates;
  RegionCounts limits{}; ///< for all classes, an upper bound
  unsigned busy = 0;
  double frequency = 1;

  /// Whether the schedule may be chosen. No file may need spills if the source order needs none there, except
  /// predicates with `morePredicates`. Where the source order spills R, the schedule's peak may not be higher, and the
  /// other files count only in the price.
  bool isAllowed(const Candidate& candidate, bool morePredicates) const {
    const RegionCounts& source = candidates[0].cost.peak;
    if (source[kR] > limits[kR]) return candidate.cost.peak[kR] <= source[kR];
    for (std::size_t f = 0; f < source.size(); ++f) {
      if (f == kP && morePredicates) continue;
      if (source[f] <= limits[f] && candidate.cost.peak[f] > limits[f]) return false;
    }
    return true;
  }

  unsigned leastRegisters() const {
    unsigned least = ~0u;
    for (const Candidate& c : candidates)
      if (isAllowed(c, true)) least = std::min(least, c.cost.peak[kR]);
    return least;
  }
};

class PreScheduler {
 public:
  /// `fixed`: the register limit, instead of those of the occupancy classes; 0: none.
  PreScheduler(ori::Function& function, PhaseContext& context, unsigned fixed)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        liveness_(function.analyses().liveness()), live_(liveness_), classes_(function, context),
        frequencies_(function), fixed_(fixed) {
    if (ori::hasRegisterRequests(function)) counts_.emplace(function, context.maxRegisters);
    warpWorth_ = std::log1p(static_cast<double>(context.knobs.get(Knob::PreSchedWarpWorth)) / 100);
  }

  /// Returns whether the code differs.
  bool run() {
    gather();
    return !regions_.empty() && (rematerializes() || isReordered_);
  }

 private:
  /// Chooses a class and its schedules. Returns whether values have been rematerialized.
  bool rematerializes() {
    const unsigned limit = chooseLimit();
    const Choice choice = choiceOf(limit);
    if (!mayRecompute()) return apply(limit);
    if (const unsigned faster = fasterClass(choice); faster != 0)
      if (reach(limit, choice, faster, kAny) == Outcome::Reached) return true;
    if (const unsigned below = classBelow(choice); below != 0)
      if (reach(below, choice, limit, kAny) == Outcome::Reached) return true;
    const std::vector<unsigned> ends = classesToReach(choice);
    // Always tries the nearest ones; tries those with more warps while rematerialization reaches them.
    const std::size_t near = ends.size() - std::min<std::size_t>(spent_ > kLarge ? 1 : kMaxClasses, ends.size());
    unsigned tries = spent_ > kLarge ? 0 : kMaxFarClasses;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (i < near && tries == 0) continue;
      Outcome outcome = reach(ends[i], choice, ends[i], {});
      if (outcome == Outcome::Dear) outcome = reachBest(ends, i, choice);
      if (outcome == Outcome::Reached) return true;
      if (i < near && outcome != Outcome::OutOfReach) --tries;
    }
    return apply(limit);
  }

  /// A limit, and the cost of the best schedules under it.
  struct Choice {
    unsigned limit;
    double price, launch;
  };

  enum class Outcome : std::uint8_t {
    Reached,
    OutOfReach, ///< too few values can be rematerialized, or this costs more than the warps are worth
    Dear,       ///< the launch becomes so much longer that the next class may be better
    NoGain,     ///< the estimate is against it
    NoPlace     ///< the allocator cannot allocate all values
  };

  /// What reach() accepts: a price below this, and a launch that is much longer.
  struct Terms {
    double price = std::numeric_limits<double>::infinity();
    bool mayBeDear = false;
  };
  static constexpr Terms kAny{std::numeric_limits<double>::infinity(), true};

  /// Builds the regions and their schedules. Returns false as soon as a region has no schedule with `most` registers.
  bool gather(unsigned most = ~0u) {
    std::vector<ScheduleMarks> marks;
    marks.reserve(function_.layout().size());
    std::vector<ori::Block*> cold;
    for (ori::Block* block : function_.layout()) {
      if (!cfg_.isReachable(block->id)) continue;
      if (block->isCold)
        cold.push_back(block);
      else if (!gather(*block, marks, most))
        return false;
    }
    // The source order of a cold block stays if other blocks need as many registers in any order.
    const unsigned least = leastRegisters();
    return std::ranges::all_of(cold,
                               [&](ori::Block* b) { return peakWithinLimits(*b) <= least || gather(*b, marks, most); });
  }

  bool gather(ori::Block& block, std::vector<ScheduleMarks>& marks, unsigned most) {
    marks.emplace_back(function_, block);
    std::vector<BlockRegion> regions = regionsOf(block);
    std::vector<RegionValues> values = valuesOf(block, regions);
    for (std::size_t i = 0; i < regions.size(); ++i) {
      add(std::move(regions[i]), std::move(values[i]));
      if (!regions_.empty() && regions_.back().leastRegisters() > most) return false;
    }
    return true;
  }

  /// The highest number of registers of file R that are live in a block in its current order. The maximum number where
  /// another file exceeds its limit.
  unsigned peakWithinLimits(const ori::Block& block) {
    live_.enter(block);
    for (const ori::Instr* instr = block.last; instr; instr = instr->prev)
      live_.step(*instr);
    const RegionCounts limits = limitsOf(block);
    const auto peak = [&](isa::File file) { return live_.maximum()[static_cast<std::size_t>(file)]; };
    for (std::size_t f = 0; f < limits.size(); ++f)
      if (peak(kScheduledFiles[f]) > limits[f]) return ~0u;
    return peak(isa::File::R);
  }

  /// The part that is reordered. Copies for the successors stay last: before the last reader of the old value, a copy
  /// could not be coalesced.
  static std::span<ori::Instr* const> orderedPartOf(const BlockRegion& region) {
    std::span<ori::Instr* const> instrs = region.instrs;
    while (!instrs.empty() && instrs.back()->op == ori::Op::COPY)
      instrs = instrs.first(instrs.size() - 1);
    return instrs;
  }

  /// The values of a block's regions. Records the register pressure at instructions that are not moved.
  std::vector<RegionValues> valuesOf(const ori::Block& block, std::span<const BlockRegion> regions) {
    std::vector<RegionValues> values(regions.size());
    std::size_t left = regions.size();
    std::span<ori::Instr* const> part; // of the last remaining region that has one
    const auto findPart = [&] {
      for (part = {}; left != 0; --left) {
        part = orderedPartOf(regions[left - 1]);
        if (!part.empty()) return;
      }
    };
    findPart();
    live_.enter(block);
    for (const ori::Instr* instr = block.last; instr; instr = instr->prev) {
      if (!part.empty() && instr == part.back()) values[left - 1] = RegionValues(part, liveness_, live_);
      live_.step(*instr);
      if (isPinned(*instr)) pinned_ = std::max(pinned_, live_.counts()[static_cast<std::size_t>(isa::File::R)]);
      if (part.empty() || instr != part.front()) continue;
      values[--left].setLiveBefore(live_.counts());
      findPart();
    }
    return values;
  }

  RegionCounts limitsOf(const ori::Block& block) const {
    constexpr unsigned kSpare = 1; // for the allocator's own moves
    const unsigned reserved = context_.target.reservedRegisters();
    RegionCounts limits{};
    for (std::size_t f = 0; f < limits.size(); ++f)
      limits[f] = context_.target.registerCount(kScheduledFiles[f]) - kSpare;
    unsigned registers = context_.maxRegisters;
    if (counts_) registers = std::min(registers, counts_->atStart(block.id));
    limits[kR] = std::max(registers, reserved) - reserved;
    // The allocator needs free registers to align tuples and to move values.
    limits[kR] -= limits[kR] / 12;
    return limits;
  }

  void add(BlockRegion place, RegionValues values) {
    Region region;
    region.place = std::move(place);
    const ori::Block& block = *region.place.block;
    region.limits = limitsOf(block);
    region.frequency = frequencies_[block.id];
    const std::span<ori::Instr* const> instrs = orderedPartOf(region.place);
    if (instrs.size() < 2) return;
    region.model = std::make_unique<ScheduleRegion>(instrs, std::move(values), context_.target);
    region.busy = busyCycles(*region.model);
    addCandidates(region, *region.model, block.isCold);
    if (spent_ > kLarge) region.model.reset(); // to save memory
    regions_.push_back(std::move(region));
  }

  void addCandidates(Region& region, const ScheduleRegion& model, bool isCold) {
    const auto add = [&](Order order) { return addCandidate(region, model, std::move(order)); };
    add(sourceOrder(model));
    if (isCold) {
      add(pressureAware(model, withoutRegisters(region.limits)));
      return;
    }
    const bool isWide = spent_ > kBudget;
    const RegionCounts source = region.candidates[0].cost.peak;
    const std::vector<unsigned>& ends = classes_.ends();
    // No schedule can be shorter than this by enough to be preferred.
    const auto enough = static_cast<unsigned>(leastLength(model) / (1 - kGainForOrder));
    const auto isSettled = [&](unsigned limit) {
      return std::ranges::any_of(region.candidates, [&](const Candidate& c) {
        return c.cost.length <= enough && c.cost.peak[kR] <= limit && isWithin(c.cost.peak, region.limits);
      });
    };
    if (fixed_ == 0 && isSettled(ends.front())) return;
    // Where the source order has too many predicates or uniform registers, schedules are made both with and without the
    // lower limit.
    std::vector<RegionCounts> bases{region.limits};
    RegionCounts relaxed = region.limits;
    for (std::size_t f = 0; f < relaxed.size(); ++f)
      if (f != kR) relaxed[f] = std::max(relaxed[f], source[f]);
    if (relaxed != region.limits) bases.push_back(relaxed);
    auto whenShort = WhenShort::FewestRegisters;
    const auto addBoth = [&](RegionCounts limits, unsigned registers) {
      limits[kR] = std::min(limits[kR], registers);
      add(latencyFirst(model, limits));
      if (!isWide) add(pressureAware(model, limits, whenShort));
    };
    for (const RegionCounts& limits : bases)
      addBoth(limits, fixed_ != 0 ? fixed_ : ~0u);
    unsigned most = 0;
    for (const Candidate& c : region.candidates)
      most = std::max(most, c.cost.peak[kR]);
    if (fixed_ == 0 && most <= ends.front()) return;
    if (fixed_ != 0 && region.leastRegisters() <= fixed_) { // other schedules are for less pressure
      if (!isWide && !isSettled(fixed_)) addFilled(region, model, fixed_);
      return;
    }
    const RegionCounts none = withoutRegisters(region.limits);
    unsigned fewest = add(pressureAware(model, none));
    if (const unsigned other = add(pressureAware(model, none, WhenShort::SourceOrder)); other < fewest) {
      whenShort = WhenShort::SourceOrder;
      fewest = other;
    }
    const auto far = static_cast<unsigned>(kFewerByTrees * fewest);
    if (fewest > ends.front() &&
        addCandidate(region, model, pressureAware(model, none, WhenShort::NewestReady), far) <= far)
      whenShort = WhenShort::NewestReady;
    add(latencyFirst(model, none));
    // The other schedules keep more results live. Tried where they need spills, or far more registers than this one.
    const unsigned least = region.leastRegisters();
    const bool needSpills = least > region.limits[kR];
    if (needSpills || least > ends.front())
      addCandidate(region, model, depthFirst(model), needSpills ? ~0u : static_cast<unsigned>(kFarFewer * least));
    // The limits to try: from the fewest registers of any schedule to those of the fastest one; of many, those with the
    // most warps. In wide functions, the one closest to the source order.
    std::vector<unsigned> tried;
    if (fixed_ != 0)
      tried.push_back(fixed_);
    else
      std::ranges::copy_if(ends, std::back_inserter(tried),
                           [&](unsigned end) { return end >= region.leastRegisters() && end < most; });
    if (isWide)
      std::ranges::stable_sort(tried, {},
                               [&](unsigned end) { return end >= source[kR] ? end - source[kR] : source[kR] - end; });
    if (tried.size() > (isWide ? 1 : kMaxLimits)) tried.resize(isWide ? 1 : kMaxLimits);
    // A larger limit is not tried where a schedule within this one is as fast as any.
    const auto isFast = [&](unsigned limit) {
      unsigned shortest = ~0u, here = ~0u;
      for (const Candidate& c : region.candidates) {
        if (!isWithin(c.cost.peak, region.limits)) continue;
        shortest = std::min(shortest, c.cost.length);
        if (c.cost.peak[kR] <= limit) here = std::min(here, c.cost.length);
      }
      return here != ~0u && here <= (1 + kGainForOrder) * shortest;
    };
    for (unsigned limit : tried)
      for (const RegionCounts& limits : bases)
        if (!isSettled(limit) && !isFast(limit)) addBoth(limits, limit);
    if (isWide) return;
    // The schedules with the fewest registers are not the best at keeping to a limit. Tries further classes while one
    // is reached.
    for (unsigned i = 0; i < kMaxFurther && fixed_ == 0; ++i) {
      const auto after = std::ranges::lower_bound(ends, region.leastRegisters());
      if (after == ends.begin()) break;
      const unsigned limit = *std::prev(after);
      for (const RegionCounts& limits : bases)
        addBoth(limits, limit);
      if (region.leastRegisters() > limit) break;
      tried.push_back(limit);
    }
    for (unsigned limit : tried)
      if (!isSettled(limit)) addFilled(region, model, limit);
  }

  static bool isWithin(const RegionCounts& counts, const RegionCounts& limits) {
    for (std::size_t f = 0; f < counts.size(); ++f)
      if (counts[f] > limits[f]) return false;
    return true;
  }

  /// Adds the fastest schedule with at most `limit` registers, and the source order if it has no more, with their
  /// stalls filled. Where the source order has too many predicates or uniform registers, also adds the fastest schedule
  /// that has not.
  void addFilled(Region& region, const ScheduleRegion& model, unsigned limit) {
    const RegionCounts source = region.candidates[0].cost.peak;
    RegionCounts limits = region.limits;
    limits[kR] = std::min(limits[kR], limit);
    const auto isFaster = [](const Candidate* a, const Candidate* b) { return a->cost.length < b->cost.length; };
    const auto fill = [&](const RegionCounts& within, const RegionCounts& room) {
      std::vector<const Candidate*> bases;
      for (const Candidate& c : region.candidates)
        if (isWithin(c.cost.peak, within)) bases.push_back(&c);
      if (bases.empty()) return;
      const Order& fastest = (*std::ranges::min_element(bases, isFaster))->order;
      const Order base(fastest.begin(), fastest.begin() + static_cast<std::ptrdiff_t>(model.instrs.size()));
      addCandidate(region, model, fillStalls(model, base, room));
    };
    RegionCounts relaxed = limits, any;
    any.fill(~0u);
    any[kR] = limit;
    for (std::size_t f = 0; f < limits.size(); ++f)
      if (f != kR) relaxed[f] = std::max(relaxed[f], source[f]);
    if (relaxed != limits) fill(limits, limits);
    // Predicates in excess in the source order are held in registers.
    const unsigned waiting = source[kP] - std::min(source[kP], region.limits[kP]);
    relaxed[kR] -= std::min(waiting, relaxed[kR] / 2);
    fill(any, relaxed);
    if (source[kR] <= limit) addCandidate(region, model, fillStalls(model, sourceOrder(model), relaxed));
  }

  /// Adds schedules for `limit` registers, between the limits of occupancy classes.
  void addBelow(Region& region, unsigned limit) {
    const ScheduleRegion& model = *region.model;
    RegionCounts limits = region.limits;
    limits[kR] = std::min(limits[kR], limit);
    addCandidate(region, model, latencyFirst(model, limits));
    addCandidate(region, model, pressureAware(model, limits));
    addFilled(region, model, limit);
  }

  /// Adds a schedule, with the part that stays last, if it needs at most `most` registers. Returns how many it needs.
  unsigned addCandidate(Region& region, const ScheduleRegion& model, Order order, unsigned most = ~0u) {
    const std::size_t count = order.size();
    spent_ += count;
    for (auto n = static_cast<std::uint32_t>(count); n < region.place.instrs.size(); ++n)
      order.push_back(n);
    for (const Candidate& c : region.candidates)
      if (c.order == order) return c.cost.peak[kR];
    const OrderCost cost = costOf(model, std::span(order).first(count), region.limits[kP]);
    if (cost.peak[kR] > most) return cost.peak[kR];
    const auto spillsOf = [&](std::size_t file) {
      if (cost.peak[file] <= region.limits[file]) return SpillCode{};
      return spillCodeOf(model.values, std::span(order).first(count), region.limits[file], file);
    };
    const SpillCode spills = spillsOf(kR), predicateSpills = spillsOf(kP);
    region.candidates.push_back({std::move(order), cost, spills, predicateSpills});
    return cost.peak[kR];
  }

  static RegionCounts withoutRegisters(RegionCounts limits) {
    limits[kR] = 0;
    return limits;
  }

  // --- applying schedules, and rematerialization to reach a limit

  /// Applies the best schedule under the limit to each region. Where the allocator could not allocate all values,
  /// chooses schedules with fewer registers or rematerializes values, or, where that costs too much, uses the next
  /// class. Returns whether values have been rematerialized.
  bool apply(unsigned limit) {
    for (;; limit = nextLimit(limit)) {
      slack_ = 0;
      fits_ = true;
      applyBest(limit);
      if (!mayMiss(limit)) return false;
      fits_ = regalloc::fitsRegisters(function_, limit, regalloc::Search::Thorough);
      // No schedule leaves more registers free where an instruction that is not moved needs all of them.
      while (!fits_ && slack_ < kMaxSlack && pinned_ < limit) {
        const unsigned slack = 2 * slack_ + 1;
        for (Region& region : regions_)
          if (region.model && best(region, limit).cost.peak[kR] + slack > limit) addBelow(region, limit - slack);
        slack_ = slack;
        // The next class may need as many free registers.
        const Choice next = choiceOf(classes_.end(limit + 1));
        if (fixed_ == 0 && priceAgainst(next, limit) > next.price) break;
        if (!applyBest(limit)) continue;
        fits_ = regalloc::fitsRegisters(function_, limit, regalloc::Search::Quick);
      }
      slack_ = 0;
      if (fits_ || fixed_ != 0) return false;
      if (mayRecompute() && makeRoom(limit)) return true;
    }
  }

  /// The limit of the next class.
  unsigned nextLimit(unsigned limit) {
    const unsigned next = classes_.end(limit + 1);
    context_.remarks.applied(regions_.front().place.instrs.front(),
                             fmt::format("scheduled for {} registers, {:.0f} warps: no place for all values in {}",
                                         next, classes_.warps(next), limit),
                             next);
    return next;
  }

  /// Returns whether something moved.
  bool applyBest(unsigned limit) {
    std::vector<ScheduleMarks> marks;
    marks.reserve(function_.layout().size());
    for (ori::Block* block : function_.layout())
      if (cfg_.isReachable(block->id)) marks.emplace_back(function_, *block);
    bool changed = false;
    isReordered_ = false;
    for (const Region& region : regions_) {
      const Order& order = best(region, limit).order;
      isReordered_ |= !std::ranges::is_sorted(order);
      changed |= reorder(function_, region.place, order);
    }
    return changed;
  }

  /// Whether the peak pressure is so close to the limit that the allocator may need more than the class has.
  bool mayMiss(unsigned limit) const {
    if (limit >= classes_.ends().back() || counts_ || spent_ > kBudget || limit <= kMaxSlack) return false;
    unsigned peak = pinned_;
    for (const Region& region : regions_)
      peak = std::max(peak, best(region, limit).cost.peak[kR]);
    return peak <= limit && peak + kTight >= limit;
  }

  /// Whether values may be rematerialized to reach an occupancy class.
  bool mayRecompute() const {
    constexpr std::int64_t kDocument = 1; // MaxRegKind: use the document's target only
    const Knobs& knobs = context_.knobs;
    if (fixed_ != 0 || counts_ || knobs.get(Knob::RematForOcc) == 0) return false;
    return knobs.get(Knob::MaxRegKind) != kDocument && allowsBlockRemat(function_, context_);
  }

  /// The class with the fewest registers whose schedules are clearly faster than those of the choice: rematerialization
  /// may reduce them to the registers of the choice. 0: none.
  unsigned fasterClass(const Choice& choice) const {
    if (spent_ > kLarge) return 0;
    for (const unsigned end : classes_.ends())
      if (end > choice.limit && choiceOf(end).launch < (1 - kGainOfFasterOrders) * choice.launch) return end;
    return 0;
  }

  /// The next class with more warps that only schedules reach that are too slow: rematerialization may reduce those of
  /// the choice to it. 0: none.
  unsigned classBelow(const Choice& choice) const {
    if (spent_ > kLarge) return 0;
    const unsigned least = leastRegisters();
    unsigned below = 0;
    for (const unsigned end : classes_.ends())
      if (end < choice.limit && end >= least) below = end;
    return below;
  }

  /// The limits of classes with more warps that no schedule reaches, but rematerialization may, if the estimate favors
  /// them. Includes the nearest one even if the estimate for schedules with few registers does not.
  std::vector<unsigned> classesToReach(const Choice& choice) const {
    const auto percent = static_cast<double>(context_.knobs.get(Knob::RematForOcc));
    std::vector<unsigned> reachable;
    const unsigned least = leastRegisters();
    unsigned peak = pinned_;
    for (const Region& region : regions_)
      peak = std::max(peak, best(region, choice.limit).cost.peak[kR]);
    const unsigned far = std::max(kReach, static_cast<unsigned>(kShareToReach * least));
    unsigned nearest = 0;
    for (const unsigned end : classes_.ends()) {
      const bool isNear = end < std::min(least, classes_.end(peak)) && end + far >= least;
      const bool hasMore = 100 * classes_.warps(end) >= percent * classes_.warps(least);
      if (!isNear || !hasMore) continue;
      nearest = end;
      if (isPromising(choice, end)) reachable.push_back(end);
    }
    // Rematerialization can also make faster schedules fit.
    const bool isListed = !reachable.empty() && reachable.back() == nearest;
    if (nearest != 0 && !isListed) reachable.push_back(nearest);
    return reachable;
  }

  /// Applies the schedules of the class `orders` and rematerializes values to reach the class `end`, or slightly below
  /// it where the allocator cannot allocate them. If that fails, only the schedule has changed.
  Outcome reach(unsigned end, const Choice& choice, unsigned orders, const Terms& terms, unsigned leastRoom = 0) {
    for (const unsigned room : kRoom) {
      if (room < leastRoom) continue;
      const Outcome outcome = room < end ? reachWithRoom(end, room, choice, orders, terms) : Outcome::OutOfReach;
      if (outcome != Outcome::NoPlace) return outcome;
    }
    return Outcome::NoPlace;
  }

  /// Reaches the class after a dear one if it has the lower price, or else the dear one, ends[at].
  Outcome reachBest(std::span<const unsigned> ends, std::size_t at, const Choice& choice) {
    const Terms cheaper{dear_, true};
    if (at + 1 < ends.size() && reach(ends[at + 1], choice, ends[at + 1], cheaper) == Outcome::Reached)
      return Outcome::Reached;
    return reach(ends[at], choice, ends[at], kAny);
  }

  /// For schedules within the class that the allocator cannot allocate: rematerializes values to free registers of the
  /// class, if that is better than the next class.
  bool makeRoom(unsigned end) { return reach(end, choiceOf(classes_.end(end + 1)), end, kAny, 1) == Outcome::Reached; }

  Outcome reachWithRoom(unsigned end, unsigned room, const Choice& choice, unsigned orders, const Terms& terms) {
    // Instructions restored by an earlier attempt are not in their places.
    applyBest(orders);
    BlockEngine engine(function_, context_);
    Outcome outcome = Outcome::OutOfReach;
    if (engine.run({end - room, RematTarget::Reason::Occupancy, choice.limit})) {
      outcome = applyRematerialized(end, choice, terms);
      if (outcome == Outcome::Reached) return outcome;
      engine.undo();
    }
    for (Region& region : regions_) {
      for (ori::Instr*& instr : region.place.instrs)
        instr = engine.now(instr);
      region.place.next = engine.now(region.place.next);
    }
    return outcome;
  }

  /// Schedules the rematerialized code, whose latency should be hidden, for the class.
  Outcome applyRematerialized(unsigned end, const Choice& choice, const Terms& terms) {
    PreScheduler again(function_, context_, end);
    if (!again.gather(end) || again.leastRegisters() > end) return Outcome::OutOfReach;
    again.chooseLimit();
    const double launch = again.choiceOf(end).launch, price = again.priceAgainst(choice, end);
    if (price >= std::min(choice.price - kGainForMoreWarps, terms.price)) return Outcome::NoGain;
    if (!isPromising(choice, end) && launch > (1 + kMaxLongerUnpromised) * choice.launch) return Outcome::NoGain;
    if (!terms.mayBeDear && launch > (1 + kDear) * choice.launch) {
      dear_ = price;
      return Outcome::Dear;
    }
    again.apply(end);
    return again.fits_ ? Outcome::Reached : Outcome::NoPlace;
  }

  /// The lowest peak pressure that any schedule reaches.
  unsigned leastRegisters() const {
    unsigned least = pinned_;
    for (const Region& region : regions_)
      least = std::max(least, region.leastRegisters());
    return least;
  }

  // --- selection

  /// Estimated cycles of all regions: of the launch of one block, and of a full multiprocessor.
  struct Cycles {
    double launch = 0, full = 0;
  };

  double warpsPerScheduler(unsigned limit) const { return std::max(1.0, classes_.warps(limit) / kSchedulers); }

  Cycles cyclesOf(const Region& region, const Candidate& candidate, unsigned limit) const {
    const SpillCode& spills = candidate.spills;
    const SpillCode& predicates = candidate.predicateSpills;
    double length = candidate.cost.length + kStoreCycles * spills.stores + kReloadCycles * spills.loads +
                    kPredicateStoreCycles * predicates.stores + kPredicateReloadCycles * predicates.loads;
    for (std::size_t f = 0; f < region.limits.size(); ++f)
      if (f != kR && f != kP && candidate.cost.peak[f] > region.limits[f])
        length += kSpillCycles[f] * (candidate.cost.peak[f] - region.limits[f]);
    const double busy = region.busy + kPredicatePipeCycles * (predicates.stores + predicates.loads);
    const double block = std::max(1.0, classes_.warpsPerBlock() / kSchedulers);
    // Warps overlap, but never completely: where the pipes are the bottleneck, the length counts a little.
    const double rest = kShareOfLength * length;
    return {region.frequency * (std::max(length, block * busy) + rest),
            region.frequency * (std::max(length / warpsPerScheduler(limit), busy) + rest)};
  }

  /// The cheapest schedule with at most `limit` registers; of equals the first, or one with far fewer registers. If
  /// none has so few, the one with the fewest.
  const Candidate& best(const Region& region, unsigned limit) const {
    // Where all schedules need spills, the one with the fewest spills is not the one with the fewest registers.
    const unsigned least = region.leastRegisters();
    const unsigned allowed = least > region.limits[kR] ? ~0u : std::max(limit - slack_, least);
    const Candidate* chosen = nullptr;
    // Predicates are spilled only where no other schedule has so few registers.
    for (const bool morePredicates : {false, true}) {
      double lowest = 0;
      for (const Candidate& c : region.candidates) {
        if (c.cost.peak[kR] > allowed || !region.isAllowed(c, morePredicates)) continue;
        const Cycles cycles = cyclesOf(region, c, limit);
        const double price =
            source_.launch == 0 ? cycles.launch : cycles.launch / source_.launch + cycles.full / source_.full;
        const bool isSpread =
            chosen && price < lowest * (1 + kEqualOrders) && c.cost.peak[kR] < kFewRegisters * chosen->cost.peak[kR];
        if (!chosen || price < lowest * (1 - kGainForOrder) || isSpread) {
          chosen = &c;
          lowest = price;
        }
      }
      if (chosen) break;
    }
    return chosen ? *chosen : region.candidates[0];
  }

  /// A limit with the best schedules under it. The price is the logarithm of both estimates, of the launch and of a
  /// full multiprocessor, less the value of the warps.
  Choice choiceOf(unsigned limit) const {
    Cycles all;
    for (const Region& region : regions_) {
      const Cycles cycles = cyclesOf(region, best(region, limit), limit);
      all.launch += cycles.launch;
      all.full += cycles.full;
    }
    const double price = std::log(std::max(all.launch, 1.0)) + std::log(std::max(all.full, 1.0)) -
                         warpWorth_ * std::log2(std::max(classes_.warps(limit), 1.0));
    return {limit, price, all.launch};
  }

  /// The price of a class. Where it has more warps than the given choice and the launch is not much longer, the
  /// additional value of its warps is deducted.
  double priceAgainst(const Choice& other, unsigned end) const {
    const Choice choice = choiceOf(end);
    const double doubled = std::log2(std::max(classes_.warps(end), 1.0) / std::max(classes_.warps(other.limit), 1.0));
    if (choice.launch > (1 + kMaxLongerLaunch * std::sqrt(std::clamp(doubled, 0.0, 1.0))) * other.launch)
      return choice.price;
    return choice.price - std::log1p(kWorthOfWarps) * std::max(doubled, 0.0);
  }

  /// Whether the class's warps outweigh its slower schedules.
  bool isPromising(const Choice& other, unsigned end) const { return priceAgainst(other, end) < other.price; }

  /// Chooses the register limit: that of the occupancy class with the fewest estimated cycles.
  unsigned chooseLimit() {
    unsigned source = pinned_, least = pinned_, most = pinned_;
    for (const Region& region : regions_) {
      source = std::max(source, region.candidates[0].cost.peak[kR]);
      least = std::max(least, region.leastRegisters());
      for (const Candidate& c : region.candidates)
        most = std::max(most, c.cost.peak[kR]);
    }
    const unsigned own = classes_.end(source);
    for (const Region& region : regions_) {
      const Cycles cycles = cyclesOf(region, region.candidates[0], own);
      source_.launch += cycles.launch;
      source_.full += cycles.full;
    }
    if (fixed_ != 0) return fixed_;
    unsigned chosen = own;
    const double ownPrice = choiceOf(own).price;
    double lowest = ownPrice;
    for (unsigned end : classes_.ends()) {
      if (end == own || end < classes_.end(least) || end > classes_.end(most)) continue;
      const double price = choiceOf(end).price;
      if (price >= lowest || price > ownPrice - (end > own ? kGainForFewerWarps : kGainForMoreWarps)) continue;
      chosen = end;
      lowest = price;
    }
    const Choice cheapest = choiceOf(chosen);
    double gain = 0;
    for (unsigned end : classes_.ends()) {
      if (end >= cheapest.limit || end < classes_.end(least)) continue;
      const double more = cheapest.price - priceAgainst(cheapest, end);
      if (more <= std::max(gain, kGainForMoreWarps)) continue;
      chosen = end;
      gain = more;
    }
    context_.remarks.applied(
        regions_.front().place.instrs.front(),
        fmt::format("scheduled for {} registers, {:.0f} warps; source order {} registers, {:.0f} warps", chosen,
                    classes_.warps(chosen), source, classes_.warps(source)),
        chosen);
    return chosen;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::Liveness& liveness_;
  ori::LiveCounter live_;
  const OccupancyClasses classes_;
  const ori::BlockFrequencies frequencies_;
  std::optional<ori::WarpRegisterCounts> counts_; // set where warps release registers
  const unsigned fixed_;                          // the given limit; 0: none
  bool isReordered_ = false;                      // the schedules that were applied last differ from the source order
  bool fits_ = true;                              // the allocator can allocate all values
  unsigned slack_ = 0;                            // registers of the class that schedules leave to the allocator
  double warpWorth_ = 0;                          // reduction of the price for twice the warps
  unsigned pinned_ = 0;                           // live registers at instructions that are not moved
  double dear_ = 0;                               // the price of the last class that was dear
  std::vector<Region> regions_;
  Cycles source_;         // of the source order
  std::size_t spent_ = 0; // instructions times schedules
};

} // namespace

/// Phase 97. Schedules the instructions of each block before register allocation. Each region gets several schedules:
/// the source order, loads first, low register pressure first, both under the limits of occupancy classes, and the best
/// of these with their stalls filled as far as the class has registers. One limit is chosen for the function, by
/// estimated cycles of the launch and of a full multiprocessor, and under it the fastest schedule of each region. Cold
/// blocks are scheduled for low register pressure. Where no schedule reaches a better class, or only slower ones do,
/// values are rematerialized for it (phases/remat/block_engine.h). The allocator checks that the class is enough.
bool advancedPhasePreSched(ori::Function& function, PhaseContext& context) {
  const bool isSplit =
      !context.code.wantDebugDefs && splitComponents(function); // debuggers need the names of whole values
  const auto fixed = static_cast<unsigned>(context.knobs.get(Knob::PreSchedRegisterTarget));
  return PreScheduler(function, context, fixed).run() || isSplit;
}

} // namespace orias::phases

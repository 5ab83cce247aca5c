#include "regalloc/register_placement.h"

#include "ori/call_abi.h"
#include "regalloc/accumulators.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace orias::regalloc {

using ori::Instr;
using ori::Operand;

namespace {

/// Calls f(index of the word, mask of the bits) for the words that a segment overlaps, until f returns false.
template <typename F> void forEachWord(Segment s, F&& f) {
  for (Point at = s.start; at < s.end;) {
    const Point next = std::min<Point>((at | 63) + 1, s.end);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - (next - at))) << (at & 63);
    if (!f(at / 64, mask)) return;
    at = next;
  }
}

} // namespace

void RegisterOccupancy::occupy(const Range& range) {
  if (range.empty()) return;
  const std::size_t needed = (range.end() + 63) / 64;
  // Grows by half: values come in program order.
  if (needed > taken_.size()) taken_.resize(std::max(needed, taken_.size() + taken_.size() / 2));
  for (Segment s : range.segments())
    forEachWord(s, [&](std::size_t word, std::uint64_t mask) {
      taken_[word] |= mask;
      return true;
    });
}

void RegisterOccupancy::release(const Range& range) {
  for (Segment s : range.segments())
    forEachWord(s, [&](std::size_t word, std::uint64_t mask) {
      if (word < taken_.size()) taken_[word] &= ~mask;
      return word < taken_.size();
    });
}

namespace {

// Weights of the soft preferences. One more register costs occupancy, which outweighs a saved copy.
constexpr std::int64_t kNewRegister = 1000;
constexpr std::int64_t kCopyAffinity = 100;
/// The cost of a store and a load of local memory.
constexpr std::int64_t kSavedRegister = 4000;

} // namespace

const std::vector<std::uint32_t>& Placer::orderOf(Order order) {
  std::vector<std::uint32_t>& ids = orders_[static_cast<std::size_t>(order)];
  if (ids.size() == webs_.all.size()) return ids;
  ids.resize(webs_.all.size());
  std::iota(ids.begin(), ids.end(), 0u);
  std::stable_sort(ids.begin(), ids.end(), [&](std::uint32_t x, std::uint32_t y) {
    const Web &a = webs_.all[x], &b = webs_.all[y];
    if (order == Order::ConstrainedFirst) {
      if (a.width != b.width) return a.width > b.width;
      if (a.start != b.start) return a.start < b.start;
      return a.spillCost > b.spillCost;
    }
    if (a.start != b.start) return a.start < b.start;
    return a.width > b.width;
  });
  return ids;
}

namespace {

/// Whether the operand is the old or the new sum of a wgmma.
bool isSumOf(const Instr& instr, const Operand& o) {
  const std::optional<SumSlots> slots = o.file == isa::File::R && o.width > 1 ? sumSlotsOf(instr) : std::nullopt;
  return slots && (&o == &instr.op_(slots->sum) || &o == &instr.op_(slots->old));
}

} // namespace

Placer::Placer(const ori::Function& function, const Webs& webs) : webs_(webs), isSum_(webs.all.size(), false) {
  firstPartner_.reserve(webs.all.size() + 1);
  for (const Web& web : webs.all) {
    firstPartner_.push_back(static_cast<std::uint32_t>(partners_.size()));
    for (auto [v, offset] : web.members)
      for (const ori::Ref o : function.refs(v)) {
        if (isSumOf(*o.owner, *o)) isSum_[firstPartner_.size() - 1] = true;
        if (o.owner->op != ori::Op::COPY) continue;
        const Operand& other = o.owner->op_(o.index() == 0 ? 1 : 0);
        if (!other.isReg() || other.file != o->file) continue;
        const std::int64_t back = static_cast<std::int64_t>(o->sub) + offset;
        if (!other.isVirtual()) {
          if (!other.isZeroReg()) partners_.push_back({~0u, other.reg - back});
        } else if (webs.webOf[other.reg] != ~0u) {
          partners_.push_back({webs.webOf[other.reg], webs.offsetOf[other.reg] + other.sub - back});
        }
      }
  }
  firstPartner_.push_back(static_cast<std::uint32_t>(partners_.size()));
}

class Placer::Pass {
 public:
  Pass(Placer& placer, const RegisterBudget& budget)
      : placer_(placer), webs_(placer.webs_), budget_(budget), taken_(fixedTaken(budget, webs_)),
        isSaved_(budget.limit, false) {
    placement_.slotOf.assign(webs_.all.size(), kNoSlot);
  }

  Placement run(Order order, const std::vector<bool>& isEarly) {
    const std::vector<std::uint32_t>& ids = placer_.orderOf(order);
    for (const bool early : {true, false})
      for (const std::uint32_t id : ids)
        if ((!isEarly.empty() && isEarly[id]) == early) placeWeb(id);
    return std::move(placement_);
  }

  Placement spread(Placement placement, std::span<const TakenByMoving> taken, const std::vector<bool>& isMoving) {
    const auto isFixed = [&](std::uint32_t id) { return placer_.isSum_[id] || (!isMoving.empty() && isMoving[id]); };
    begin(std::move(placement), taken, isMoving);
    std::vector<bool> isDone(webs_.all.size(), false);
    for (const std::uint32_t id : placer_.orderOf(Order::ByStart)) {
      if (isDone[id]) continue;
      const std::vector<std::uint32_t> group = heldTogether(id);
      for (const std::uint32_t w : group)
        isDone[w] = true;
      if (group.empty() || std::ranges::any_of(group, isFixed)) continue;
      std::ranges::for_each(group, [&](std::uint32_t w) { release(w); });
      moveInTurn(group);
      std::ranges::for_each(group, [&](std::uint32_t w) { occupy(w); });
    }
    return std::move(placement_);
  }

  Placement separateBanks(const BankConflicts& conflicts, Placement placement, std::span<const TakenByMoving> taken,
                          const std::vector<bool>& isMoving) {
    begin(std::move(placement), taken, isMoving);
    for (const ThreeReads& reads : conflicts.all()) {
      for (const std::uint32_t id : reads.webs) {
        if (!BankConflicts::isConflict(reads, placement_.slotOf)) break;
        const std::vector<std::uint32_t> group = heldTogether(id);
        const bool isFixed = std::ranges::any_of(group, [&](std::uint32_t w) {
          return placer_.isSum_[w] || webs_.all[w].width != 1 || (!isMoving.empty() && isMoving[w]);
        });
        if (!group.empty() && !isFixed) moveToOtherBank(group, conflicts);
      }
    }
    return std::move(placement_);
  }

 private:
  /// Occupies what a placement takes, except moving webs, which have taken `taken`.
  void begin(Placement placement, std::span<const TakenByMoving> taken, const std::vector<bool>& isMoving) {
    placement_ = std::move(placement);
    for (std::uint32_t id = 0; id < webs_.all.size(); ++id)
      if (isMoving.empty() || !isMoving[id]) occupy(id);
    for (const auto& [slot, where] : taken)
      taken_.occupy(where, slot);
  }

  /// Moves single registers that are connected, and have one slot, to a slot of the other bank that is in use anyway,
  /// if that leaves fewer conflicts. The next slots come first, to keep the rotation.
  void moveToOtherBank(std::span<const std::uint32_t> group, const BankConflicts& conflicts) {
    const std::uint32_t from = placement_.slotOf[group[0]];
    std::ranges::for_each(group, [&](std::uint32_t w) { release(w); });
    SlotSet free =
        SlotSet::between(0, placement_.used) & ((from & 1) != 0 ? SlotSet::aligned(2) : ~SlotSet::aligned(2));
    for (const std::uint32_t w : group)
      free &= freeSlots(taken_, budget_, webs_.all[w]);
    const auto set = [&](std::size_t slot) {
      for (const std::uint32_t w : group)
        placement_.slotOf[w] = static_cast<std::uint32_t>(slot);
    };
    std::size_t to = free.from(from);
    if (to == SlotSet::kMax) to = free.from(0);
    if (to != SlotSet::kMax) {
      const double before = conflicts.weightOf(group, placement_.slotOf);
      set(to);
      if (conflicts.weightOf(group, placement_.slotOf) >= before) set(from);
    }
    std::ranges::for_each(group, [&](std::uint32_t w) { occupy(w); });
  }

  void placeWeb(std::uint32_t id) {
    const Web& web = webs_.all[id];
    collectWishes(id);
    const SlotSet free = freeSlots(taken_, budget_, web);
    std::uint32_t best = wishes_.empty() && !placer_.isSum_[id] ? nextInTurn(web.width, free) : kNoSlot;
    if (best == kNoSlot) {
      std::int64_t bestCost = 0;
      const auto consider = [&](std::uint32_t base) {
        const std::int64_t cost = secondary(web, base);
        if (best != kNoSlot && std::pair(cost, base) >= std::pair(bestCost, best)) return;
        best = base;
        bestCost = cost;
      };
      if (budget_.isCallable) {
        for (std::size_t slot = free.from(0); slot != SlotSet::kMax; slot = free.from(slot + 1))
          consider(static_cast<std::uint32_t>(slot));
      } else if (const std::size_t first = free.from(0); first != SlotSet::kMax) {
        // The cost of a slot grows with its number, except for slots that a copy prefers.
        consider(static_cast<std::uint32_t>(first));
        for (const std::uint32_t wish : wishes_)
          if (wish < SlotSet::kMax && free[wish]) consider(wish);
      }
    }
    placement_.slotOf[id] = best;
    if (best == kNoSlot) {
      placement_.failed.push_back(id);
      return;
    }
    occupy(id);
    for (unsigned i = 0; i < web.width; ++i) {
      if (web.components[i].empty()) continue;
      isSaved_[best + i] = true;
      placement_.used = std::max(placement_.used, best + i + 1);
    }
  }

  void occupy(std::uint32_t id) {
    const Web& web = webs_.all[id];
    for (unsigned i = 0; i < web.width; ++i)
      if (!web.components[i].empty()) taken_.occupy(web.components[i], placement_.slotOf[id] + i);
  }

  void release(std::uint32_t id) {
    const Web& web = webs_.all[id];
    for (unsigned i = 0; i < web.width; ++i)
      if (!web.components[i].empty()) taken_.release(web.components[i], placement_.slotOf[id] + i);
  }

  /// The web, and the webs connected to it by copies that need no instruction because both ends have the same place.
  /// Empty if a physical register is among them, or if there are many.
  std::vector<std::uint32_t> heldTogether(std::uint32_t id) const {
    constexpr std::size_t kMax = 16;
    std::vector<std::uint32_t> group = {id};
    for (std::size_t i = 0; i < group.size(); ++i)
      for (const Partner& partner : placer_.partnersOf(group[i])) {
        const bool isPhysical = partner.web == ~0u;
        const std::int64_t base = partner.offset + (isPhysical ? 0 : std::int64_t{placement_.slotOf[partner.web]});
        if (base != placement_.slotOf[group[i]]) continue;
        if (isPhysical) return {};
        if (std::ranges::find(group, partner.web) != group.end()) continue;
        if (group.size() == kMax) return {};
        group.push_back(partner.web);
      }
    return group;
  }

  /// Moves connected webs to the first place after the slot that was assigned last where all of them are free.
  void moveInTurn(std::span<const std::uint32_t> group) {
    constexpr std::uint32_t kWidest = 64; // wider groups are not moved
    std::uint32_t first = kNoSlot, end = 0;
    for (const std::uint32_t w : group) {
      first = std::min(first, placement_.slotOf[w]);
      end = std::max(end, placement_.slotOf[w] + webs_.all[w].width);
    }
    if (end - first > kWidest) return;
    SlotSet free = SlotSet::between(0, budget_.limit);
    for (const std::uint32_t w : group)
      free &= freeSlots(taken_, budget_, webs_.all[w]).down(placement_.slotOf[w] - first);
    const std::uint32_t to = nextInTurn(end - first, free);
    if (to == kNoSlot) return;
    for (const std::uint32_t w : group)
      placement_.slotOf[w] += to - first;
    placement_.used = std::max(placement_.used, to + end - first);
  }

  /// The first free place for this many slots after the one that was assigned last; kNoSlot if there is none.
  std::uint32_t nextInTurn(std::uint32_t width, const SlotSet& free) {
    const auto isPlace = [&](std::size_t base) { return base + width <= budget_.rotated; };
    std::size_t base = free.from(turn_);
    if (!isPlace(base)) base = free.from(0);
    if (!isPlace(base)) return kNoSlot;
    turn_ = static_cast<std::uint32_t>(base) + width;
    return static_cast<std::uint32_t>(base);
  }

  /// Collects the slots of the other ends of this web's copies.
  void collectWishes(std::uint32_t id) {
    wishes_.clear();
    for (const Partner& partner : placer_.partnersOf(id)) {
      std::int64_t base = partner.offset;
      if (partner.web != ~0u) {
        if (placement_.slotOf[partner.web] == kNoSlot) continue;
        base += placement_.slotOf[partner.web];
      }
      if (base >= 0) wishes_.push_back(static_cast<std::uint32_t>(base));
    }
  }

  std::int64_t secondary(const Web& web, std::uint32_t base) const {
    std::int64_t cost = 0;
    if (base + web.width > placement_.used)
      cost += kNewRegister * static_cast<std::int64_t>(base + web.width - placement_.used);
    if (budget_.isCallable)
      for (unsigned i = 0; i < web.width; ++i)
        if (ori::isKeptByFunctions(budget_.file, base + i) && !isSaved_[base + i]) cost += kSavedRegister;
    for (std::uint32_t wish : wishes_)
      cost -= wish == base ? kCopyAffinity : 0;
    return cost;
  }

  Placer& placer_;
  const Webs& webs_;
  const RegisterBudget& budget_;
  TakenSlots taken_;
  std::vector<bool> isSaved_; ///< by slot: some web has it, so the function saves it anyway
  std::vector<std::uint32_t> wishes_;
  std::uint32_t turn_ = 0; ///< where the search for the next run begins
  Placement placement_;
};

namespace {

/// Calls f(where, slots) for the fixed occupancy of a budget: registers that are lost around calls, and those above a
/// limit.
template <typename F> void forEachFixed(const RegisterBudget& budget, F&& f) {
  const SlotSet all = SlotSet::between(0, budget.limit);
  for (const CallPoints::Lost& lost : budget.calls.lost)
    f(lost.where, lost.slots & all);
  if (budget.file == isa::File::R && ori::kScratchAtEntry < budget.limit)
    f(budget.calls.entry, SlotSet::between(ori::kScratchAtEntry, ori::kScratchAtEntry + 1));
  for (const PointLimit& fewer : budget.limits)
    f(fewer.where, SlotSet::between(fewer.limit, budget.limit));
}

} // namespace

bool lacksLess(const Placement& a, const Placement& b, const Webs& webs) {
  const auto lacking = [&](const Placement& p) {
    unsigned registers = 0;
    for (const std::uint32_t w : p.failed)
      registers += webs.all[w].width;
    return registers;
  };
  return std::tuple(lacking(a), a.failed.size(), a.used) < std::tuple(lacking(b), b.failed.size(), b.used);
}

std::vector<RegisterOccupancy> fixedSlots(const RegisterBudget& budget) {
  std::vector<RegisterOccupancy> slots(budget.limit);
  forEachFixed(budget, [&](const Range& where, const SlotSet& taken) {
    for (std::size_t r = taken.from(0); r != SlotSet::kMax; r = taken.from(r + 1))
      slots[r].occupy(where);
  });
  return slots;
}

TakenSlots fixedTaken(const RegisterBudget& budget, const Webs& webs) {
  Point points = 0;
  const auto reach = [&](const Range& range) {
    if (!range.empty()) points = std::max(points, range.end());
  };
  for (const Web& web : webs.all)
    std::ranges::for_each(web.components, reach);
  forEachFixed(budget, [&](const Range& where, const SlotSet&) { reach(where); });

  TakenSlots taken(budget.limit, points);
  SlotSet reserved;
  for (std::uint32_t r = 0; r < std::min<std::size_t>(budget.reserved.size(), budget.limit); ++r)
    if (budget.reserved[r]) reserved.set(r);
  taken.occupyEverywhere(reserved);
  forEachFixed(budget, [&](const Range& where, const SlotSet& slots) { taken.occupy(where, slots); });
  return taken;
}

SlotSet freeSlots(const TakenSlots& taken, const RegisterBudget& budget, const Web& web) {
  if (web.width > budget.limit) return {};
  SlotSet inUse;
  for (unsigned i = 0; i < web.width; ++i) {
    if (web.components[i].empty()) continue;
    SlotSet ofPart;
    taken.addTaken(web.components[i], ofPart);
    inUse |= ofPart.down(i);
  }
  return ~inUse & SlotSet::aligned(web.align) & SlotSet::between(0, budget.limit - web.width + 1);
}

Placement Placer::place(const RegisterBudget& budget, Order order, const std::vector<bool>& isEarly) {
  for (const Known& known : known_)
    if (std::tie(known.limit, known.rotated, known.order, known.isEarly) ==
        std::tie(budget.limit, budget.rotated, order, isEarly))
      return known.placement;
  known_.push_back({budget.limit, budget.rotated, order, isEarly, Pass(*this, budget).run(order, isEarly)});
  return known_.back().placement;
}

Placement Placer::spread(const RegisterBudget& budget, Placement placement, std::span<const TakenByMoving> taken,
                         const std::vector<bool>& isMoving) {
  return Pass(*this, budget).spread(std::move(placement), taken, isMoving);
}

Placement Placer::separateBanks(const RegisterBudget& budget, const BankConflicts& conflicts, Placement placement,
                                std::span<const TakenByMoving> taken, const std::vector<bool>& isMoving) {
  const bool hasConflict = std::ranges::any_of(
      conflicts.all(), [&](const ThreeReads& reads) { return BankConflicts::isConflict(reads, placement.slotOf); });
  if (!hasConflict) return placement;
  return Pass(*this, budget).separateBanks(conflicts, std::move(placement), taken, isMoving);
}

} // namespace orias::regalloc

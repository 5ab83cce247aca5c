#include "regalloc/mend.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace orias::regalloc {

namespace {

/// For each web without a slot at first, this many webs may be moved.
constexpr unsigned kMovesForEach = 96;
/// Placements that lack more registers are not mended: the 38 attempts that succeeded in 900 kernels began with at most
/// 7 webs.
constexpr std::size_t kMaxLacking = 10;
/// How many taken segments may be examined. Of 38 attempts that succeeded in 900 kernels, one examined 700,000 and the
/// others at most 146,000; with wide tuples, 96 moves that did not succeed examined 23 million.
constexpr std::uint64_t kMaxLooks = 2'000'000;
/// Cost of a web that finds no other slot. It grows each time that the web had to leave one.
constexpr unsigned kHomeless = 8;

/// Moves webs. Costs are computed far more often than webs move, so the free slots of each web are cached, and only
/// slots that have changed since are tested again.
class Mender {
 public:
  Mender(const Webs& webs, const RegisterBudget& budget, const Placement& placement)
      : webs_(webs), budget_(budget), slots_(fixedSlots(budget)), fixed_(fixedTaken(budget, webs)), taken_(fixed_),
        pieces_(budget.limit), placement_(placement), timesOut_(webs.all.size(), 0), takenAt_(webs.all.size(), 0),
        seenIn_(webs.all.size(), 0), free_(webs.all.size()) {
    for (std::uint32_t id = 0; id < webs.all.size(); ++id)
      if (placement_.slotOf[id] != kNoSlot) {
        occupy(id, placement_.slotOf[id]);
        takenAt_[id] = ++time_;
        forEachPart(id, placement_.slotOf[id], [&](std::uint32_t r, const Range& range) {
          for (const Segment s : range.segments())
            pieces_[r].push_back({s.start, s.end, id});
        });
      }
    for (std::vector<Piece>& pieces : pieces_)
      std::ranges::sort(pieces, {}, &Piece::start);
  }

  std::optional<Placement> run(std::size_t mostMoves) {
    std::vector<std::uint32_t> waiting = std::move(placement_.failed);
    placement_.failed.clear();
    std::size_t moves = std::min<std::size_t>(kMovesForEach * waiting.size(), mostMoves);
    while (!waiting.empty()) {
      if (waiting.size() > moves || looks_ > kMaxLooks) return std::nullopt; // each takes at least one move
      const std::uint32_t id = waiting.back();
      waiting.pop_back();
      --moves;
      const std::uint32_t slot = cheapest(id);
      if (slot == kNoSlot) return std::nullopt;
      std::vector<std::uint32_t> out;
      addOwnersAgainst(id, slot, out);
      for (const std::uint32_t other : out)
        leave(other);
      take(id, slot);
      for (const std::uint32_t other : out) {
        ++timesOut_[other];
        if (const std::size_t free = freeSlots(other).from(0); free != SlotSet::kMax)
          take(other, static_cast<std::uint32_t>(free));
        else
          waiting.push_back(other);
      }
    }
    placement_.used = 0;
    for (std::uint32_t r = 0; r < pieces_.size(); ++r)
      if (!pieces_[r].empty()) placement_.used = r + 1;
    return std::move(placement_);
  }

 private:
  /// A segment in which a register is taken by a web.
  struct Piece {
    Point start, end;
    std::uint32_t owner;
  };

  /// A slot that a web might take.
  struct Trial {
    std::uint32_t slot;
    unsigned atLeast;          ///< its cost if all owners find other slots
    std::uint32_t first, last; ///< the owners, in owners_
  };

  /// The cached free slots of a web.
  struct FreeSlots {
    SlotSet slots, fixed;               ///< free now, and free except for webs that can be moved
    SlotSet stale;                      ///< of fixed: those that must be tested again
    std::size_t asOf = ~std::size_t{0}; ///< how much of changes_ is in stale; ~0: nothing is cached
  };

  template <typename F> void forEachPart(std::uint32_t id, std::uint32_t slot, F&& f) const {
    const Web& web = webs_.all[id];
    for (unsigned i = 0; i < web.width; ++i)
      if (!web.components[i].empty()) f(slot + i, web.components[i]);
  }

  void occupy(std::uint32_t id, std::uint32_t slot) {
    forEachPart(id, slot, [&](std::uint32_t r, const Range& range) {
      slots_[r].occupy(range);
      taken_.occupy(range, r);
    });
  }
  void release(std::uint32_t id, std::uint32_t slot) {
    forEachPart(id, slot, [&](std::uint32_t r, const Range& range) {
      slots_[r].release(range);
      taken_.release(range, r);
    });
  }

  void take(std::uint32_t id, std::uint32_t slot) {
    occupy(id, slot);
    placement_.slotOf[id] = slot;
    takenAt_[id] = ++time_;
    changes_.push_back(SlotSet::between(slot, slot + webs_.all[id].width));
    forEachPart(id, slot, [&](std::uint32_t r, const Range& range) {
      std::vector<Piece>& pieces = pieces_[r];
      const auto old = static_cast<std::ptrdiff_t>(pieces.size());
      for (const Segment s : range.segments())
        pieces.push_back({s.start, s.end, id});
      std::ranges::inplace_merge(pieces, pieces.begin() + old, {}, &Piece::start);
    });
  }

  void leave(std::uint32_t id) {
    const std::uint32_t slot = placement_.slotOf[id];
    release(id, slot);
    changes_.push_back(SlotSet::between(slot, slot + webs_.all[id].width));
    forEachPart(id, slot, [&](std::uint32_t r, const Range&) {
      std::erase_if(pieces_[r], [id](const Piece& piece) { return piece.owner == id; });
    });
    placement_.slotOf[id] = kNoSlot;
  }

  /// Whether no movable web overlaps the web in the slot.
  bool isFree(const Web& web, std::size_t slot) const {
    for (unsigned i = 0; i < web.width; ++i)
      if (!web.components[i].empty() && slots_[slot + i].overlaps(web.components[i])) return false;
    return true;
  }

  /// The cached free slots of a web, with the changes since then.
  FreeSlots& known(std::uint32_t id) {
    const Web& web = webs_.all[id];
    FreeSlots& free = free_[id];
    if (free.asOf > changes_.size()) {
      free.fixed = regalloc::freeSlots(fixed_, budget_, web);
      free.slots = regalloc::freeSlots(taken_, budget_, web);
    } else if (free.asOf != changes_.size()) {
      SlotSet stale;
      for (; free.asOf < changes_.size(); ++free.asOf)
        stale |= changes_[free.asOf];
      for (unsigned i = 1; i < web.width; ++i)
        stale |= stale.down(1);
      stale &= free.fixed;
      free.stale |= stale;
    }
    free.asOf = changes_.size();
    return free;
  }
  /// All slots that are free for a web.
  const SlotSet& freeSlots(std::uint32_t id) {
    FreeSlots& free = known(id);
    for (std::size_t slot = free.stale.from(0); slot != SlotSet::kMax; slot = free.stale.from(slot + 1))
      free.slots.set(slot, isFree(webs_.all[id], slot));
    free.stale = {};
    return free.slots;
  }
  /// Whether a slot that is not among the given ones is free for the web.
  bool isAnyFreeBeside(std::uint32_t id, const SlotSet& given) {
    FreeSlots& free = known(id);
    if ((free.slots & ~free.stale & ~given).any()) return true;
    const SlotSet others = free.stale & ~given;
    for (std::size_t slot = others.from(0); slot != SlotSet::kMax; slot = others.from(slot + 1)) {
      const bool isNow = isFree(webs_.all[id], slot);
      free.slots.set(slot, isNow);
      free.stale.set(slot, false);
      if (isNow) return true;
    }
    return false;
  }
  /// The slots in which only movable webs are in the way.
  const SlotSet& movableSlots(std::uint32_t id) {
    return free_[id].asOf > changes_.size() ? known(id).fixed : free_[id].fixed;
  }

  /// Calls f with the pieces of a register that overlap the range, until it returns false. Returns whether it never
  /// did.
  template <typename F> bool forEachOverlapping(std::uint32_t r, const Range& range, F&& f) const {
    const std::vector<Piece>& pieces = pieces_[r];
    auto at = pieces.begin();
    for (const Segment s : range.segments()) {
      at = std::ranges::upper_bound(at, pieces.end(), s.start, {}, &Piece::end);
      if (at == pieces.end()) break;
      for (auto piece = at; piece != pieces.end() && piece->start < s.end; ++piece) {
        ++looks_;
        if (!f(*piece)) return false;
      }
    }
    return true;
  }

  /// Adds the owners of registers of the run that are in the way, by register; those of one register in the order in
  /// which they took it.
  void addOwnersAgainst(std::uint32_t id, std::uint32_t slot, std::vector<std::uint32_t>& owners) {
    ++query_;
    forEachPart(id, slot, [&](std::uint32_t r, const Range& range) {
      const auto old = static_cast<std::ptrdiff_t>(owners.size());
      forEachOverlapping(r, range, [&](const Piece& piece) {
        if (std::exchange(seenIn_[piece.owner], query_) != query_) owners.push_back(piece.owner);
        return true;
      });
      std::ranges::sort(owners.begin() + old, owners.end(), {}, [&](std::uint32_t web) { return takenAt_[web]; });
    });
  }

  /// Whether `slot` would be free for `other` once the web has the run of the trial, and the owners of the run, which
  /// are marked by query `out`, have left their slots. Only for slots without fixed conflicts.
  bool isFreeThen(std::uint32_t other, std::uint32_t slot, std::uint32_t id, const Trial& trial,
                  std::uint64_t out) const {
    const Web &web = webs_.all[other], &taker = webs_.all[id];
    for (unsigned i = 0; i < web.width; ++i) {
      const Range& range = web.components[i];
      if (range.empty()) continue;
      const std::uint32_t r = slot + i;
      if (r >= trial.slot && r < trial.slot + taker.width && taker.components[r - trial.slot].overlaps(range))
        return false;
      if (!forEachOverlapping(r, range, [&](const Piece& piece) { return seenIn_[piece.owner] == out; })) return false;
    }
    return true;
  }

  /// The cost of taking a slot from its owners. May stop early with any value of at least `enough`.
  unsigned costOf(std::uint32_t id, const Trial& trial, unsigned enough) {
    const std::uint32_t width = webs_.all[id].width;
    const std::span<const std::uint32_t> out(owners_.data() + trial.first, owners_.data() + trial.last);
    std::uint64_t query = 0; // marks the owners; 0: not marked yet
    const SlotSet run = SlotSet::between(trial.slot, trial.slot + width);
    SlotSet runs = run; // and, once the owners are marked, their runs
    // The slots in which a web of this many registers overlaps the given registers.
    const auto touching = [](SlotSet registers, unsigned ofWeb) {
      for (unsigned i = 1; i < ofWeb; ++i)
        registers |= registers.down(1);
      return registers;
    };
    unsigned cost = trial.atLeast;
    for (const std::uint32_t other : out) {
      if (cost >= enough) break;
      const Web& web = webs_.all[other];
      if (isAnyFreeBeside(other, touching(run, web.width))) continue;
      // No other slot is free. The owners may leave one, or a part of the run may be free.
      if (query == 0) {
        query = ++query_;
        for (const std::uint32_t owner : out) {
          seenIn_[owner] = query;
          runs |= SlotSet::between(placement_.slotOf[owner], placement_.slotOf[owner] + webs_.all[owner].width);
        }
      }
      const SlotSet may = touching(runs, web.width) & movableSlots(other);
      bool finds = false;
      for (std::size_t slot = may.from(0); slot != SlotSet::kMax && !finds; slot = may.from(slot + 1))
        finds = isFreeThen(other, static_cast<std::uint32_t>(slot), id, trial, query);
      if (!finds) cost += (kHomeless * web.width - 1) * (1 + timesOut_[other]);
    }
    return cost;
  }

  /// The slot whose owners are cheapest to move; the first of equals.
  std::uint32_t cheapest(std::uint32_t id) {
    trials_.clear();
    owners_.clear();
    const SlotSet may = movableSlots(id);
    for (std::size_t at = may.from(0); at != SlotSet::kMax; at = may.from(at + 1)) {
      const auto slot = static_cast<std::uint32_t>(at);
      const auto first = static_cast<std::uint32_t>(owners_.size());
      addOwnersAgainst(id, slot, owners_);
      unsigned atLeast = 0;
      for (std::size_t i = first; i < owners_.size(); ++i) {
        atLeast += 1 + timesOut_[owners_[i]];
        takenAt_[owners_[i]] = ++time_; // owners that were examined move to the end of the order
      }
      trials_.push_back({slot, atLeast, first, static_cast<std::uint32_t>(owners_.size())});
    }
    std::ranges::stable_sort(trials_, {}, &Trial::atLeast);
    std::uint32_t best = kNoSlot;
    unsigned lowest = ~0U;
    for (const Trial& trial : trials_) {
      if (trial.atLeast > lowest) break;
      // Of slots with the same cost the first is taken.
      const unsigned enough = trial.slot < best && lowest != ~0U ? lowest + 1 : lowest;
      const unsigned cost = costOf(id, trial, enough);
      if (cost >= enough) continue;
      lowest = cost;
      best = trial.slot;
    }
    return best;
  }

  const Webs& webs_;
  const RegisterBudget& budget_;
  std::vector<RegisterOccupancy> slots_;   ///< when each slot is taken
  const TakenSlots fixed_;                 ///< occupancy that cannot be moved, by point
  TakenSlots taken_;                       ///< all occupancy, by point
  std::vector<std::vector<Piece>> pieces_; ///< by slot, ordered by point
  Placement placement_;
  std::vector<unsigned> timesOut_; ///< by web
  std::uint64_t time_ = 0, query_ = 0;
  mutable std::uint64_t looks_ = 0;    ///< segments examined by forEachOverlapping
  std::vector<std::uint64_t> takenAt_; ///< by web; the order of owners
  std::vector<std::uint64_t> seenIn_;  ///< by web: the last query that found it
  std::vector<SlotSet> changes_;       ///< registers of all webs that were placed or removed
  std::vector<FreeSlots> free_;        ///< by web
  std::vector<Trial> trials_;
  std::vector<std::uint32_t> owners_; ///< of the trials
};

} // namespace

Placement mend(const Webs& webs, const RegisterBudget& budget, Placement placement, std::size_t mostMoves) {
  if (placement.failed.empty() || placement.failed.size() > std::min(kMaxLacking, mostMoves)) return placement;
  std::optional<Placement> mended = Mender(webs, budget, placement).run(mostMoves);
  return mended ? std::move(*mended) : std::move(placement);
}

} // namespace orias::regalloc

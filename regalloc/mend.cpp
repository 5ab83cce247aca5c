#include "regalloc/mend.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <span>
#include <utility>

namespace orias::regalloc {

namespace {

/// Webs that may be taken from their slots, for each that has none at first, and in all.
constexpr unsigned kMovesForEach = 48, kMostMoves = 96;
/// What a web costs that finds no other slot, and more for each time that it had to leave one.
constexpr unsigned kHomeless = 8;

/// A set of slots. No file has more.
using SlotSet = std::bitset<256>;

/// The slots from `first` to `last`, exclusive.
SlotSet slotsBetween(std::size_t first, std::size_t last) {
  return ~SlotSet() >> (SlotSet().size() - std::min(last, SlotSet().size()) + first) << first;
}

/// Moves webs. Costs are asked for far more often than webs move, so what is asked for is kept until something in its
/// way has moved: who has a register when, and which slots are free for a web.
class Mender {
 public:
  Mender(const Webs& webs, const SlotBudget& budget, const Placement& placement)
      : webs_(webs), budget_(budget), slots_(fixedSlots(budget)), fixed_(slots_), pieces_(budget.limit),
        placement_(placement), timesOut_(webs.all.size(), 0), takenAt_(webs.all.size(), 0), seenIn_(webs.all.size(), 0),
        free_(webs.all.size()) {
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

  std::optional<Placement> run() {
    std::vector<std::uint32_t> waiting = std::move(placement_.failed);
    placement_.failed.clear();
    std::size_t moves = std::min<std::size_t>(kMovesForEach * waiting.size(), kMostMoves);
    while (!waiting.empty()) {
      const std::uint32_t id = waiting.back();
      waiting.pop_back();
      if (moves-- == 0) return std::nullopt;
      const std::uint32_t slot = cheapest(id);
      if (slot == kNoSlot) return std::nullopt;
      std::vector<std::uint32_t> out;
      addOwnersAgainst(id, slot, out);
      for (const std::uint32_t other : out)
        leave(other);
      take(id, slot);
      for (const std::uint32_t other : out) {
        ++timesOut_[other];
        if (const std::size_t free = freeSlots(other)._Find_first(); free < budget_.limit)
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
  /// Where a web has a register.
  struct Piece {
    Point start, end;
    std::uint32_t owner;
  };

  /// A slot that a web might take.
  struct Trial {
    std::uint32_t slot;
    unsigned atLeast;          ///< what it costs if all owners find other slots
    std::uint32_t first, last; ///< the owners, in owners_
  };

  /// The slots that are free for a web.
  struct FreeSlots {
    SlotSet slots;
    std::size_t asOf = ~std::size_t{0}; ///< how much of changes_ it knows; ~0: nothing
  };

  template <typename F> void forEachPart(std::uint32_t id, std::uint32_t slot, F&& f) const {
    const Web& web = webs_.all[id];
    for (unsigned i = 0; i < web.width; ++i)
      if (!web.components[i].empty()) f(slot + i, web.components[i]);
  }

  /// Calls f with each slot of the set that the web may stand in, upwards, until it returns false.
  template <typename F> void forEachSlot(const SlotSet& slots, const Web& web, F&& f) const {
    for (std::size_t slot = slots._Find_first(); slot + web.width <= budget_.limit; slot = slots._Find_next(slot))
      if (slot % web.align == 0 && !f(static_cast<std::uint32_t>(slot))) return;
  }

  void occupy(std::uint32_t id, std::uint32_t slot) {
    forEachPart(id, slot, [&](std::uint32_t r, const Range& range) { slots_[r].occupy(range); });
  }
  void release(std::uint32_t id, std::uint32_t slot) {
    forEachPart(id, slot, [&](std::uint32_t r, const Range& range) { slots_[r].release(range); });
  }

  void take(std::uint32_t id, std::uint32_t slot) {
    occupy(id, slot);
    placement_.slotOf[id] = slot;
    takenAt_[id] = ++time_;
    changes_.push_back(slotsBetween(slot, slot + webs_.all[id].width));
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
    changes_.push_back(slotsBetween(slot, slot + webs_.all[id].width));
    forEachPart(id, slot, [&](std::uint32_t r, const Range&) {
      std::erase_if(pieces_[r], [id](const Piece& piece) { return piece.owner == id; });
    });
    placement_.slotOf[id] = kNoSlot;
  }

  /// Whether nothing is in the way in these slots, of all that there is or of what cannot be moved.
  bool isFree(const std::vector<SlotOccupancy>& slots, std::uint32_t id, std::uint32_t slot) const {
    const Web& web = webs_.all[id];
    for (unsigned i = 0; i < web.width; ++i) {
      if (web.components[i].empty()) continue;
      const std::uint32_t r = slot + i;
      if ((r < budget_.reserved.size() && budget_.reserved[r]) || slots[r].overlaps(web.components[i])) return false;
    }
    return true;
  }

  /// All slots that are free for a web. Asks again only for those with registers that have changed since.
  const SlotSet& freeSlots(std::uint32_t id) {
    const Web& web = webs_.all[id];
    FreeSlots& free = free_[id];
    SlotSet stale;
    if (free.asOf > changes_.size())
      stale.set();
    else
      for (; free.asOf < changes_.size(); ++free.asOf)
        stale |= changes_[free.asOf];
    free.asOf = changes_.size();
    for (unsigned i = 1; i < web.width; ++i)
      stale |= stale >> 1;
    forEachSlot(stale, web, [&](std::uint32_t slot) {
      free.slots[slot] = isFree(slots_, id, slot);
      return true;
    });
    return free.slots;
  }

  /// The owners of registers of the run that are in the way, by register; those of one register in the order in which
  /// they took it.
  void addOwnersAgainst(std::uint32_t id, std::uint32_t slot, std::vector<std::uint32_t>& owners) {
    ++query_;
    forEachPart(id, slot, [&](std::uint32_t r, const Range& range) {
      const auto old = static_cast<std::ptrdiff_t>(owners.size());
      const std::vector<Piece>& pieces = pieces_[r];
      auto at = pieces.begin();
      for (const Segment s : range.segments()) {
        at = std::ranges::upper_bound(at, pieces.end(), s.start, {}, &Piece::end);
        if (at == pieces.end()) break;
        for (auto piece = at; piece != pieces.end() && piece->start < s.end; ++piece)
          if (std::exchange(seenIn_[piece->owner], query_) != query_) owners.push_back(piece->owner);
      }
      std::ranges::sort(owners.begin() + old, owners.end(), {}, [&](std::uint32_t web) { return takenAt_[web]; });
    });
  }

  /// Whether a slot would be free for `other` once the web has the run of the trial, and the run's owners, whom the
  /// query `out` has found, have left their slots.
  bool isFreeThen(std::uint32_t other, std::uint32_t slot, std::uint32_t id, const Trial& trial,
                  std::uint64_t out) const {
    const Web &web = webs_.all[other], &taker = webs_.all[id];
    for (unsigned i = 0; i < web.width; ++i) {
      const Range& range = web.components[i];
      if (range.empty()) continue;
      const std::uint32_t r = slot + i;
      if ((r < budget_.reserved.size() && budget_.reserved[r]) || fixed_[r].overlaps(range)) return false;
      if (r >= trial.slot && r < trial.slot + taker.width && taker.components[r - trial.slot].overlaps(range))
        return false;
      const std::vector<Piece>& pieces = pieces_[r];
      auto at = pieces.begin();
      for (const Segment s : range.segments()) {
        at = std::ranges::upper_bound(at, pieces.end(), s.start, {}, &Piece::end);
        if (at == pieces.end()) break;
        for (auto piece = at; piece != pieces.end() && piece->start < s.end; ++piece)
          if (seenIn_[piece->owner] != out) return false;
      }
    }
    return true;
  }

  /// What it costs to take a slot from its owners; at least `enough` if it is not less than that.
  unsigned costOf(std::uint32_t id, const Trial& trial, unsigned enough) {
    const std::uint32_t width = webs_.all[id].width;
    const std::span<const std::uint32_t> out(owners_.data() + trial.first, owners_.data() + trial.last);
    std::uint64_t query = 0; // that marks the owners
    const SlotSet run = slotsBetween(trial.slot, trial.slot + width);
    SlotSet runs = run; // and, once there is a query, those of the owners
    // The slots in which a web of so many registers touches some.
    const auto touching = [](SlotSet registers, unsigned ofWeb) {
      for (unsigned i = 1; i < ofWeb; ++i)
        registers |= registers >> 1;
      return registers;
    };
    unsigned cost = trial.atLeast;
    for (const std::uint32_t other : out) {
      if (cost >= enough) break;
      const Web& web = webs_.all[other];
      if ((freeSlots(other) & ~touching(run, web.width)).any()) continue;
      // Nothing else is free, but perhaps what the owners leave, or a part of the run.
      if (query == 0) {
        query = ++query_;
        for (const std::uint32_t owner : out) {
          seenIn_[owner] = query;
          runs |= slotsBetween(placement_.slotOf[owner], placement_.slotOf[owner] + webs_.all[owner].width);
        }
      }
      bool finds = false;
      forEachSlot(touching(runs, web.width), web, [&](std::uint32_t slot) {
        finds = isFreeThen(other, slot, id, trial, query);
        return !finds;
      });
      if (!finds) cost += (kHomeless * web.width - 1) * (1 + timesOut_[other]);
    }
    return cost;
  }

  /// The slot whose owners are the easiest to move; the first of equals.
  std::uint32_t cheapest(std::uint32_t id) {
    const Web& web = webs_.all[id];
    trials_.clear();
    owners_.clear();
    for (std::uint32_t slot = 0; slot + web.width <= budget_.limit; slot += web.align) {
      if (!isFree(fixed_, id, slot)) continue;
      const auto first = static_cast<std::uint32_t>(owners_.size());
      addOwnersAgainst(id, slot, owners_);
      unsigned atLeast = 0;
      for (std::size_t i = first; i < owners_.size(); ++i) {
        atLeast += 1 + timesOut_[owners_[i]];
        takenAt_[owners_[i]] = ++time_; // who has been asked is the last in the order
      }
      trials_.push_back({slot, atLeast, first, static_cast<std::uint32_t>(owners_.size())});
    }
    std::ranges::stable_sort(trials_, {}, &Trial::atLeast);
    std::uint32_t best = kNoSlot;
    unsigned lowest = ~0U;
    for (const Trial& trial : trials_) {
      if (trial.atLeast > lowest) break;
      // Of slots that cost the same the first is taken.
      const unsigned enough = trial.slot < best && lowest != ~0U ? lowest + 1 : lowest;
      const unsigned cost = costOf(id, trial, enough);
      if (cost >= enough) continue;
      lowest = cost;
      best = trial.slot;
    }
    return best;
  }

  const Webs& webs_;
  const SlotBudget& budget_;
  std::vector<SlotOccupancy> slots_;
  const std::vector<SlotOccupancy> fixed_; ///< with what cannot be moved
  std::vector<std::vector<Piece>> pieces_; ///< by slot; in order
  Placement placement_;
  std::vector<unsigned> timesOut_; ///< by web
  std::uint64_t time_ = 0, query_ = 0;
  std::vector<std::uint64_t> takenAt_; ///< by web; the order of owners
  std::vector<std::uint64_t> seenIn_;  ///< by web: the last query that found it
  std::vector<SlotSet> changes_;       ///< the registers of all that came or went
  std::vector<FreeSlots> free_;        ///< by web
  std::vector<Trial> trials_;
  std::vector<std::uint32_t> owners_; ///< of the trials
};

} // namespace

Placement mend(const Webs& webs, const SlotBudget& budget, Placement placement) {
  if (placement.failed.empty()) return placement;
  std::optional<Placement> mended = Mender(webs, budget, placement).run();
  return mended ? std::move(*mended) : std::move(placement);
}

} // namespace orias::regalloc

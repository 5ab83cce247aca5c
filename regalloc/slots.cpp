#include "regalloc/slots.h"

#include "regalloc/call_abi.h"

#include <algorithm>
#include <numeric>

namespace orias::regalloc {

using ori::Instr;
using ori::Operand;

namespace {

/// Calls f(index of the word, mask of the bits) for the words that a segment touches, until f returns false.
template <typename F> void forEachWord(Segment s, F&& f) {
  for (Point at = s.start; at < s.end;) {
    const Point next = std::min<Point>((at | 63) + 1, s.end);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - (next - at))) << (at & 63);
    if (!f(at / 64, mask)) return;
    at = next;
  }
}

} // namespace

bool SlotOccupancy::overlaps(const Range& range) const {
  bool found = false;
  for (Segment s : range.segments()) {
    if (s.start / 64 >= taken_.size() || found) break;
    forEachWord(s, [&](std::size_t word, std::uint64_t mask) {
      if (word >= taken_.size()) return false;
      found = (taken_[word] & mask) != 0;
      return !found;
    });
  }
  return found;
}

void SlotOccupancy::occupy(const Range& range) {
  if (range.empty()) return;
  const std::size_t needed = (range.end() + 63) / 64;
  // In steps of a half again: values come in the order of the program.
  if (needed > taken_.size()) taken_.resize(std::max(needed, taken_.size() + taken_.size() / 2));
  for (Segment s : range.segments())
    forEachWord(s, [&](std::size_t word, std::uint64_t mask) {
      taken_[word] |= mask;
      return true;
    });
}

void SlotOccupancy::release(const Range& range) {
  for (Segment s : range.segments())
    forEachWord(s, [&](std::size_t word, std::uint64_t mask) {
      if (word < taken_.size()) taken_[word] &= ~mask;
      return word < taken_.size();
    });
}

namespace {

// Weights of the soft wishes. A register more costs occupancy, which outweighs a saved copy.
constexpr std::int64_t kNewRegister = 1000;
constexpr std::int64_t kCopyAffinity = 100;
/// A store and a load of local memory.
constexpr std::int64_t kSavedRegister = 4000;

std::vector<std::uint32_t> orderOf(const Webs& webs, Order order, const std::vector<bool>& isEarly) {
  std::vector<std::uint32_t> ids(webs.all.size());
  std::iota(ids.begin(), ids.end(), 0u);
  std::stable_sort(ids.begin(), ids.end(), [&](std::uint32_t x, std::uint32_t y) {
    const Web &a = webs.all[x], &b = webs.all[y];
    if (order == Order::ConstrainedFirst) {
      if (a.width != b.width) return a.width > b.width;
      if (a.start != b.start) return a.start < b.start;
      return a.spillCost > b.spillCost;
    }
    if (a.start != b.start) return a.start < b.start;
    return a.width > b.width;
  });
  if (!isEarly.empty()) std::stable_partition(ids.begin(), ids.end(), [&](std::uint32_t w) { return isEarly[w]; });
  return ids;
}

class Placer {
 public:
  Placer(const ori::Function& function, const Webs& webs, const SlotBudget& budget)
      : function_(function), webs_(webs), budget_(budget), slots_(budget.limit), isSaved_(budget.limit, false) {
    placement_.slotOf.assign(webs.all.size(), kNoSlot);
    for (std::uint32_t r = 0; r < budget.limit; ++r) {
      occupyAtCalls(r);
      occupyElsewhere(r);
    }
  }

  Placement run(Order order, const std::vector<bool>& isEarly) {
    for (std::uint32_t id : orderOf(webs_, order, isEarly))
      placeWeb(id);
    return std::move(placement_);
  }

  Placement spread(Placement placement) {
    placement_ = std::move(placement);
    const auto forEachPart = [&](std::uint32_t id, auto&& f) {
      for (unsigned i = 0; i < webs_.all[id].width; ++i)
        f(slots_[placement_.slotOf[id] + i], webs_.all[id].components[i]);
    };
    for (std::uint32_t id = 0; id < webs_.all.size(); ++id)
      forEachPart(id, [](SlotOccupancy& slot, const Range& range) { slot.occupy(range); });
    for (std::uint32_t id : orderOf(webs_, Order::ByStart, {})) {
      const Web& web = webs_.all[id];
      collectWishes(web);
      if (web.width != 1 || !wishes_.empty()) continue;
      forEachPart(id, [](SlotOccupancy& slot, const Range& range) { slot.release(range); });
      if (const std::uint32_t next = nextInTurn(web); next != kNoSlot) placement_.slotOf[id] = next;
      forEachPart(id, [](SlotOccupancy& slot, const Range& range) { slot.occupy(range); });
      placement_.used = std::max(placement_.used, placement_.slotOf[id] + 1);
    }
    return std::move(placement_);
  }

 private:
  void occupyElsewhere(std::uint32_t r) {
    for (const PointLimit& fewer : budget_.limits)
      if (r >= fewer.limit) slots_[r].occupy(fewer.where);
  }

  void occupyAtCalls(std::uint32_t r) {
    if (!survivesCall(Convention::System, budget_.file, r)) slots_[r].occupy(budget_.calls.system);
    if (!survivesCall(Convention::Function, budget_.file, r)) slots_[r].occupy(budget_.calls.function);
    if (!survivesCall(Convention::Pointer, budget_.file, r)) slots_[r].occupy(budget_.calls.pointer);
    if (budget_.file == isa::File::R && r == kScratchAtEntry) {
      slots_[r].occupy(budget_.calls.entry);
      slots_[r].occupy(budget_.calls.function);
      slots_[r].occupy(budget_.calls.pointer);
    }
  }

  void placeWeb(std::uint32_t id) {
    const Web& web = webs_.all[id];
    collectWishes(web);
    std::uint32_t best = nextInTurn(web);
    std::int64_t bestCost = 0;
    const bool isSettled = best != kNoSlot;
    for (std::uint32_t base = 0; !isSettled && base + web.width <= budget_.limit; base += web.align) {
      std::int64_t cost = secondary(web, base);
      if (best != kNoSlot && cost >= bestCost) continue;
      if (!isFree(web, base)) continue;
      best = base;
      bestCost = cost;
      // Within the registers in use, with nothing wished for elsewhere, nothing better comes.
      if (wishes_.empty() && base + web.width <= placement_.used && !budget_.isCallable) break;
    }
    placement_.slotOf[id] = best;
    if (best == kNoSlot) {
      placement_.failed.push_back(id);
      return;
    }
    for (unsigned i = 0; i < web.width; ++i) {
      if (web.components[i].empty()) continue;
      slots_[best + i].occupy(web.components[i]);
      isSaved_[best + i] = true;
      placement_.used = std::max(placement_.used, best + i + 1);
    }
  }

  /// The first free run after the one that was given out last, if the web has no wish; kNoSlot if there is none.
  std::uint32_t nextInTurn(const Web& web) {
    if (!wishes_.empty() || budget_.rotated < web.width) return kNoSlot;
    const std::uint32_t last = (budget_.rotated - web.width) / web.align;
    const std::uint32_t first = (turn_ + web.align - 1) / web.align;
    for (std::uint32_t i = 0; i <= last; ++i) {
      const std::uint32_t base = (first + i) % (last + 1) * web.align;
      if (!isFree(web, base)) continue;
      turn_ = base + web.width;
      return base;
    }
    return kNoSlot;
  }

  /// Where the other ends of this web's copies sit already.
  void collectWishes(const Web& web) {
    wishes_.clear();
    for (auto [v, offset] : web.members)
      for (const Operand* o = function_.vreg(v).refs; o; o = o->nextRef) {
        if (o->owner->op != ori::Op::COPY) continue;
        const Operand& other = o->owner->op_(o == &o->owner->op_(0) ? 1 : 0);
        if (!other.isReg() || other.file != o->file) continue;
        std::int64_t partner;
        if (!other.isVirtual()) {
          if (other.isZeroReg()) continue;
          partner = other.reg;
        } else {
          std::uint32_t w = webs_.webOf[other.reg];
          if (w == ~0u || placement_.slotOf[w] == kNoSlot) continue;
          partner = placement_.slotOf[w] + webs_.offsetOf[other.reg] + other.sub;
        }
        std::int64_t base = partner - static_cast<std::int64_t>(o->sub) - offset;
        if (base >= 0) wishes_.push_back(static_cast<std::uint32_t>(base));
      }
  }

  std::int64_t secondary(const Web& web, std::uint32_t base) const {
    std::int64_t cost = 0;
    if (base + web.width > placement_.used)
      cost += kNewRegister * static_cast<std::int64_t>(base + web.width - placement_.used);
    if (budget_.isCallable)
      for (unsigned i = 0; i < web.width; ++i)
        if (isKeptByFunctions(budget_.file, base + i) && !isSaved_[base + i]) cost += kSavedRegister;
    for (std::uint32_t wish : wishes_)
      cost -= wish == base ? kCopyAffinity : 0;
    return cost;
  }

  /// The primary weight is zero.
  bool isFree(const Web& web, std::uint32_t base) const {
    for (unsigned i = 0; i < web.width; ++i) {
      if (web.components[i].empty()) continue;
      if (base + i < budget_.reserved.size() && budget_.reserved[base + i]) return false;
      if (slots_[base + i].overlaps(web.components[i])) return false;
    }
    return true;
  }

  const ori::Function& function_;
  const Webs& webs_;
  const SlotBudget& budget_;
  std::vector<SlotOccupancy> slots_;
  std::vector<bool> isSaved_; ///< whoever else wants it, the function saves it already
  std::vector<std::uint32_t> wishes_;
  std::uint32_t turn_ = 0; ///< where the next run is looked for
  Placement placement_;
};

} // namespace

Placement place(const ori::Function& function, const Webs& webs, const SlotBudget& budget, Order order,
                const std::vector<bool>& isEarly) {
  return Placer(function, webs, budget).run(order, isEarly);
}

Placement spread(const ori::Function& function, const Webs& webs, const SlotBudget& budget, Placement placement) {
  return Placer(function, webs, budget).spread(std::move(placement));
}

} // namespace orias::regalloc

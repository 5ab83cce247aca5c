#pragma once

#include "regalloc/bank_conflicts.h"
#include "regalloc/call_points.h"
#include "regalloc/taken_registers.h"
#include "regalloc/webs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace orias::regalloc {

inline constexpr std::uint32_t kNoSlot = ~0u;

/// When a physical register is taken: one bit for each point, so that a query is cheap regardless of the number of
/// values.
class RegisterOccupancy {
 public:
  bool overlaps(const Range& range) const {
    for (const Segment s : range.segments()) {
      const std::size_t first = s.start / 64, last = (s.end - 1) / 64;
      if (first >= taken_.size()) return false;
      const std::uint64_t fromStart = ~std::uint64_t{0} << (s.start & 63);
      const std::uint64_t toEnd = ~std::uint64_t{0} >> (63 - ((s.end - 1) & 63));
      if (first == last) {
        if (taken_[first] & fromStart & toEnd) return true;
        continue;
      }
      if (taken_[first] & fromStart) return true;
      const std::size_t end = std::min(last, taken_.size());
      for (std::size_t word = first + 1; word < end; ++word)
        if (taken_[word]) return true;
      if (last < taken_.size() && (taken_[last] & toEnd)) return true;
    }
    return false;
  }
  bool isTaken(Point point) const {
    return point / 64 < taken_.size() && (taken_[point / 64] >> (point & 63) & 1) != 0;
  }
  /// The first point in [from, end) at which the register is taken (free); `end` if there is none.
  Point nextTaken(Point from, Point end) const { return next(from, end, 0); }
  Point nextFree(Point from, Point end) const { return next(from, end, ~std::uint64_t{0}); }
  void occupy(const Range& range);
  void release(const Range& range);

 private:
  Point next(Point from, Point end, std::uint64_t flip) const {
    while (from < end) {
      const std::uint64_t word = ((from / 64 < taken_.size() ? taken_[from / 64] : 0) ^ flip) >> (from & 63);
      if (word != 0) return std::min<Point>(end, from + static_cast<Point>(std::countr_zero(word)));
      from = (from | 63) + 1;
    }
    return end;
  }

  std::vector<std::uint64_t> taken_; // grows with the last point taken
};

/// A reduced register limit in part of the program.
struct PointLimit {
  unsigned limit = 0;
  Range where;
};
using PointLimits = std::vector<PointLimit>;

struct RegisterBudget {
  unsigned limit = 0;         ///< slots 0 .. limit-1, except where `limits` says otherwise
  PointLimits limits;         ///< where fewer slots are available
  std::vector<bool> reserved; ///< reserved registers (the stack pointer)
  isa::File file = isa::File::R;
  CallPoints calls;
  bool isCallable = false; ///< using a register that functions preserve costs saving it
  /// Slots below this are assigned in rotation, so that a result seldom waits for the last access to its register. 0:
  /// the first free slot is assigned.
  unsigned rotated = 0;
};

/// The registers of a budget with fixed occupancy: around calls, and where the limit is lower.
std::vector<RegisterOccupancy> fixedSlots(const RegisterBudget& budget);
/// The fixed occupancy by point, including the reserved registers, with room for the webs.
TakenSlots fixedTaken(const RegisterBudget& budget, const Webs& webs);
/// The slots in which the whole web is free.
SlotSet freeSlots(const TakenSlots& taken, const RegisterBudget& budget, const Web& web);

/// The order in which webs are given slots.
enum class Order : std::uint8_t {
  ConstrainedFirst, ///< wide and expensive ones first
  ByStart           ///< along the program, as a linear scan; best for long straight code
};

struct Placement {
  std::vector<std::uint32_t> slotOf; ///< by web; kNoSlot when none was free
  std::vector<std::uint32_t> failed; ///< webs without a slot
  unsigned used = 0;                 ///< highest slot in use + 1
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Whether the first placement is closer to complete: fewer registers are missing, then fewer webs, then fewer are
/// used. A wide web without a run, which would be spilled as a whole, is worse than some single registers.
bool lacksLess(const Placement& a, const Placement& b, const Webs& webs);

/// The part of a register that a web takes which changes registers.
struct TakenByMoving {
  std::uint32_t slot = 0;
  Range where;
};

/// Places webs repeatedly: what does not change between passes is computed once. Code and webs must not change.
class Placer {
 public:
  Placer(const ori::Function& function, const Webs& webs);

  /// One pass of fat-point selection: each web in turn takes the slot with the lowest cost. The primary weight of a
  /// slot is its occupancy where the web is live (it must be zero). The secondary weight sums up soft preferences:
  /// registers that are already used, and the slot at the other end of a copy. `isEarly`, if not empty, marks webs that
  /// are placed before all others: those that an earlier pass failed to assign. All budgets must be equal except for
  /// `limit` and `rotated`.
  Placement place(const RegisterBudget& budget, Order order, const std::vector<bool>& isEarly = {});

  /// Spreads the webs of the assignment over the registers below `budget.rotated` in rotation, as far as the others
  /// leave room. Webs that are joined by copies and have the same place already move together; sums of wgmmas do not
  /// move. Always succeeds. Webs that change registers (moves.h) do not move either; `taken` says what they occupy.
  Placement spread(const RegisterBudget& budget, Placement placement, std::span<const TakenByMoving> taken = {},
                   const std::vector<bool>& isMoving = {});

  /// Moves single registers of the assignment so that fewer instructions read three registers of one bank. No register
  /// is used that was not before. The same webs as in `spread` do not move.
  Placement separateBanks(const RegisterBudget& budget, const BankConflicts& conflicts, Placement placement,
                          std::span<const TakenByMoving> taken = {}, const std::vector<bool>& isMoving = {});

 private:
  class Pass;

  /// The other operand of a copy. If the web is `offset` registers after it, the copy needs no instruction.
  struct Partner {
    std::uint32_t web; ///< ~0: a physical register, and `offset` is its number
    std::int64_t offset;
  };

  std::span<const Partner> partnersOf(std::uint32_t web) const {
    return std::span(partners_).subspan(firstPartner_[web], firstPartner_[web + 1] - firstPartner_[web]);
  }
  const std::vector<std::uint32_t>& orderOf(Order order);

  const Webs& webs_;
  std::vector<bool> isSum_; ///< by web: contains a sum of wgmmas, which must not change registers between wgmmas
  std::vector<Partner> partners_;
  std::vector<std::uint32_t> firstPartner_;            ///< by web, one more than there are
  std::array<std::vector<std::uint32_t>, 2> orders_{}; ///< by Order; empty: not computed yet

  /// A pass and its result: searches for a complete placement begin with the same passes.
  struct Known {
    unsigned limit, rotated; ///< of the budget
    Order order;
    std::vector<bool> isEarly;
    Placement placement;
  };
  std::vector<Known> known_;
};

} // namespace orias::regalloc

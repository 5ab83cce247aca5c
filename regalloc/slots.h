#pragma once

#include "regalloc/webs.h"

#include <cstdint>
#include <vector>

namespace orias::regalloc {

inline constexpr std::uint32_t kNoSlot = ~0u;

/// When a physical register is taken: one bit for each point, so that asking costs little however many values come and
/// go.
class SlotOccupancy {
 public:
  bool overlaps(const Range& range) const;
  void occupy(const Range& range);
  void release(const Range& range);

 private:
  std::vector<std::uint64_t> taken_; // grows with the last point taken
};

/// Where some registers are not to be had.
struct CallPoints {
  Range system, function, pointer; ///< where code elsewhere runs, which not all registers survive; by Convention
  Range entry;                     ///< where parameters are taken, which needs one register more
};

/// Fewer registers than elsewhere, in part of the program.
struct PointLimit {
  unsigned limit = 0;
  Range where;
};
using PointLimits = std::vector<PointLimit>;

struct SlotBudget {
  unsigned limit = 0;         ///< slots 0 .. limit-1, where nothing says otherwise
  PointLimits limits;         ///< ... and where fewer are to be had
  std::vector<bool> reserved; ///< slots that nobody gets (the stack pointer)
  isa::File file = isa::File::R;
  CallPoints calls;
  bool isCallable = false; ///< a register that functions keep costs its saving
  /// Slots below this are taken in turn, so that a result seldom waits for the last access to its register. 0: the
  /// first free one is taken.
  unsigned rotated = 0;
};

/// The order in which webs are given slots.
enum class Order : std::uint8_t {
  ConstrainedFirst, ///< wide and expensive ones first
  ByStart           ///< along the program, as a linear scan; best for long straight code
};

struct Placement {
  std::vector<std::uint32_t> slotOf; ///< by web; kNoSlot when none was free
  std::vector<std::uint32_t> failed; ///< webs without a slot
  unsigned used = 0;                 ///< highest slot in use + 1
};

/// One pass of fat-point selection: each web in turn takes the slot where it hurts least. The primary weight of a slot
/// is what it holds already where the web is live (it must be nothing), the secondary one adds up soft wishes: to stay
/// within the registers already used, to sit where a copy's other end sits.
/// `isEarly`, where it is not empty, names the webs that are placed before all others: those that an earlier pass
/// failed to place.
Placement place(const ori::Function& function, const Webs& webs, const SlotBudget& budget, Order order,
                const std::vector<bool>& isEarly = {});

/// The placement with single registers that are no ends of copies given out in turn, one web after the other, as far as
/// `budget.rotated` and what the others have taken allow. Always succeeds.
Placement spread(const ori::Function& function, const Webs& webs, const SlotBudget& budget, Placement placement);

} // namespace orias::regalloc

#pragma once

// The cost of several consecutive copies of a loop body, before they are created.

#include "encoder/isa/target.h"
#include "ori/function.h"
#include "phases/occupancy.h"

#include <cstddef>
#include <span>
#include <vector>

namespace orias::phases {

struct UnrolledCost {
  unsigned length = 0; ///< cycles of one warp from one pass to the next
  unsigned busy = 0;   ///< cycles for which the busiest pipe, or the issue, is busy
  unsigned peak = 0;   ///< registers of file R that the body writes and that are live at the same time
};

/// The cost of `copies` copies of the block of a loop, scheduled by a list scheduler that has at most `window` of them
/// in flight. Different copies use different registers. An address that is incremented by a constant has a cost only in
/// one copy. The branch at the end and its condition are only in the last copy, or, with `keepsTest` false, in none.
UnrolledCost costOfCopies(std::span<const ori::Instr* const> body, unsigned copies, bool keepsTest, unsigned window,
                          const isa::Target& target);

/// Decides whether copies of a loop of one block gain more than they cost.
class UnrollJudge {
 public:
  struct Loop {
    std::vector<const ori::Instr*> instrs; ///< of the block, in order
    unsigned trips = 1;                    ///< iterations
    bool isKnown = false;                  ///< `trips` is known, not guessed
    unsigned peak = 0;                     ///< registers of file R that are live at the same time in the loop
    unsigned functionPeak = 0;             ///< the same for the function
    std::size_t outside = 0;               ///< instructions that run once for all iterations
  };
  UnrollJudge(Loop loop, const OccupancyClasses& classes, const isa::Target& target);

  /// Logarithm of cycles, of one block and of a full multiprocessor, relative to the loop as it is: negative if
  /// `copies` copies gain. As many iterations are in flight at once as the occupancy class of the function allows; the
  /// class is left only for a large gain. `isCounted`: the trip count is known at run time, and there is a remainder
  /// loop.
  double price(unsigned copies, bool isCounted) const;

 private:
  double logOf(double length, double busy, unsigned registers) const;

  Loop loop_;
  const OccupancyClasses& classes_;
  const isa::Target& target_;
  UnrolledCost once_;
  double before_ = 0;
};

} // namespace orias::phases

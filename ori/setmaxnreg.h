#pragma once

#include "ori/function.h"

#include <optional>
#include <vector>

// USETMAXREG: warps of a kernel return registers of file R to their CTA, and other warps allocate them. ptxas 13.0
// translates `setmaxnreg` (observed) to DEALLOC, or to TRY_ALLOC in a loop until the registers are available.

namespace orias::ori {

/// Returns true if the function releases or requests registers (setmaxnreg).
bool hasRegisterRequests(const Function& function);

/// The maximum register count that the function requests; empty if it only releases registers.
std::optional<unsigned> mostRegistersRequested(const Function& function);

/// Removes all requests, and the loops that wait for their success: a warp keeps the registers that it has at entry.
/// Correct in any function that needs no more than those.
void dropRegisterRequests(Function& function);

/// The minimum register count of a warp at each point: a data-flow analysis that takes the minimum at joins.
/// Requested registers are available after the branch that tests the result, not before. Unreachable blocks have
/// the count of the entry.
class WarpRegisterCounts {
 public:
  WarpRegisterCounts(const Function& function, unsigned atEntry);

  unsigned atStart(BlockId block) const { return start_[block].count; }
  /// The count after an instruction; `before` is the count before it.
  static unsigned after(const Instr& instr, unsigned before);
  /// Calls f(instruction, count before it, count after it) for all instructions.
  template <typename F> void forEach(const Function& function, F&& f) const {
    for (const Block* block : function.layout()) {
      unsigned count = atStart(block->id);
      for (const Instr& instr : *block) {
        const unsigned before = count;
        count = after(instr, before);
        f(instr, before, count);
      }
    }
  }

 private:
  struct State {
    unsigned count = 0;
    unsigned asked = 0; ///< what TRY_ALLOC has requested since the last branch; 0: nothing
    bool isKnown = false;
  };

  std::vector<State> start_; // by block
};

} // namespace orias::ori

#pragma once

#include "ori/function.h"

#include <optional>
#include <vector>

// USETMAXREG: the warps of a kernel give registers of file R back to their CTA, and others take them. What ptxas 13.0
// does with `setmaxnreg` (observed): DEALLOC, or TRY_ALLOC in a loop until the registers are there.

namespace orias::ori {

/// Returns true if the function releases or requests registers (setmaxnreg).
bool hasRegisterRequests(const Function& function);

/// The maximum register count that the function requests; empty if it only releases registers.
std::optional<unsigned> mostRegistersRequested(const Function& function);

/// Removes all requests, and the loops that wait for their success: a warp keeps its registers at entry.
/// Correct in any function that uses only those.
void dropRegisterRequests(Function& function);

/// The minimum register count of a warp at each point: a data-flow analysis that takes the minimum at joins.
/// Requested registers are available after the branch that tests the result, not before. Unreachable blocks have
/// the count of the entry.
class RegisterCounts {
 public:
  RegisterCounts(const Function& function, unsigned atEntry);

  unsigned atStart(BlockId block) const { return start_[block].count; }
  /// ... after an instruction, with `before` before it.
  static unsigned behind(const Instr& instr, unsigned before);
  /// Calls f(instruction, count before it, count after it) for all instructions.
  template <typename F> void forEach(const Function& function, F&& f) const {
    for (const Block* block : function.layout()) {
      unsigned count = atStart(block->id);
      for (const Instr& instr : *block) {
        const unsigned before = count;
        count = behind(instr, before);
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

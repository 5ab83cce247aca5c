#pragma once

#include "ori/function.h"

#include <optional>
#include <vector>

// USETMAXREG: the warps of a kernel give registers of file R back to their CTA, and others take them. What ptxas 13.0
// does with `setmaxnreg` (observed): DEALLOC, or TRY_ALLOC in a loop until the registers are there.

namespace orias::ori {

/// Does the function give registers back, or ask for some?
bool hasRegisterRequests(const Function& function);

/// The most registers that the function asks for; nothing when it only gives some back.
std::optional<unsigned> mostRegistersRequested(const Function& function);

/// Takes all requests out, and the loops that wait for their success: a warp keeps what it has at its entry. Right in
/// any function whose registers all are below that.
void dropRegisterRequests(Function& function);

/// How many registers a warp has at each place, at least: a flow analysis that takes the fewest where paths meet. What
/// is asked for is there behind the branch that looks at the answer, and not before. Blocks that cannot be reached have
/// what the entry has.
class RegisterCounts {
 public:
  RegisterCounts(const Function& function, unsigned atEntry);

  unsigned atStart(BlockId block) const { return start_[block].count; }
  /// ... behind an instruction, with `before` in front of it.
  static unsigned behind(const Instr& instr, unsigned before);
  /// Calls f(instruction, count in front of it, count behind it) for all of the function.
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
    unsigned asked = 0; ///< what TRY_ALLOC has asked for since the last branch; 0: nothing
    bool isKnown = false;
  };

  std::vector<State> start_; // by block
};

} // namespace orias::ori

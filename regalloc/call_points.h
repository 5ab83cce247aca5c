#pragma once

#include "regalloc/taken_registers.h"
#include "regalloc/webs.h"

#include <vector>

namespace orias::regalloc {

/// Where some registers are not available.
struct CallPoints {
  /// Where called code runs, and the slots that it changes.
  struct Lost {
    Range where;
    SlotSet slots;
    bool isKnown = false; ///< whether `slots` are those of the actual callee, not all that the ABI lets it change
  };
  std::vector<Lost> lost;
  Range entry; ///< where parameters are received, which needs one more register
};

/// The points where calls write their results. Other values that are live there have to survive the call.
CallPoints callPoints(const ori::Function& function, const LiveRanges& ranges, isa::File file);

/// Whether a web that can be spilled is live at any of these points.
bool isLiveAcross(const Web& web, const Range& calls);

/// The calls across which not all live values survive in registers: all whose callee is unknown, and those across
/// which more registers are live than the callee preserves.
Range crowdedCalls(const Webs& webs, const CallPoints& calls, unsigned limit);

} // namespace orias::regalloc

#include "phases/control_info.h"
#include "phases/hw_sequences.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 115. Inserts idle loads around asynchronous copies, and sets stall counts, scoreboards, wait masks, yield
/// hints and reuse flags, over the control-flow graph. With the knob SchedSerial it does as little as phase 116.
bool advancedScoreboardsAndOpexes(ori::Function& function, PhaseContext& context) {
  ControlOptions options;
  options.isSerial = context.knobs.enabled(Knob::SchedSerial);
  options.setsReuse = context.knobs.enabled(Knob::SchedReuse);
  insertIdleLoads(function);
  assignControlInfo(function, options);
  return true;
}

} // namespace orias::phases

#include "ori/analysis/analyses.h"
#include "phases/occupancy.h"
#include "phases/phases.h"
#include "phases/remat/live_in_engine.h"

#include <fmt/format.h>

namespace orias::phases {

namespace {

bool isSkipped(const ori::Function& function, const PhaseContext& context) {
  if (!function.ssa) return true;
  if (!context.knobs.lists(Knob::NoRemat, function.name())) return false;
  if (context.dump && context.knobs.get(Knob::DumpRemat) > 0)
    *context.dump += fmt::format("Skip rematerialization on {}\n", function.name());
  return true;
}

bool hasTarget(const ori::Function& function, const PhaseContext& context) {
  const RematTargets targets(function, context);
  if (!targets.mayBeFor(namedRegisters(function, isa::File::R))) return false;
  const ori::RegisterPressure& pressure = function.analyses().pressure();
  return !targets.forLive(pressure.maximum()[static_cast<std::size_t>(isa::File::R)]).empty();
}

} // namespace

/// Phase 54. Numbers and special registers that are live where the function exceeds its registers are rematerialized
/// where they are read, before predication and commoning change the code. Occupancy is not considered yet.
bool oriDoRematEarly(ori::Function& function, PhaseContext& context) {
  if (context.knobs.get(Knob::DoRemat) == 0 || isSkipped(function, context)) return false;
  return hasTarget(function, context) && LiveInEngine(function, context, LiveInEngine::Mode::Early).run();
}

/// Phase 69. Values that are live into blocks with too many live registers are rematerialized in the blocks that read
/// them (phases/remat/live_in_engine.h): against spills, or for a better occupancy class. Knobs DoRemat, NoRemat and
/// the others of the literature's `nvvmrematerialize`.
bool oriDoRemat(ori::Function& function, PhaseContext& context) {
  if (context.knobs.get(Knob::DoRemat) == 0 || isSkipped(function, context)) return false;
  if (context.knobs.get(Knob::DumpRemat) == 0 && !hasTarget(function, context)) return false;
  // Computed values are cheaper than loaded ones.
  const bool changed = LiveInEngine(function, context, LiveInEngine::Mode::Full).run();
  if (!context.knobs.enabled(Knob::RematLoad)) return changed;
  return LiveInEngine(function, context, LiveInEngine::Mode::WithLoads).run() || changed;
}

/// Phase 69d. Extracted bits of values that stay live anyway, and sums with them, are computed where they are read
/// instead of being live out of the blocks that compute them. Knob SimplifyLiveOut: 1 = bits, 2 = sums too, 3 = also
/// from operands that are not live there, but take fewer registers.
bool simplifyLiveOut(ori::Function& function, PhaseContext& context) {
  if (context.knobs.get(Knob::SimplifyLiveOut) == 0 || isSkipped(function, context)) return false;
  return hasTarget(function, context) && LiveInEngine(function, context, LiveInEngine::Mode::LiveOut).run();
}

} // namespace orias::phases

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

/// Phase 54. Numbers and special registers that live across more than the function has registers for are set again
/// where they are read, before what predication and commoning make of the code. Nothing is done for occupancy yet.
bool oriDoRematEarly(ori::Function& function, PhaseContext& context) {
  if (context.knobs.get(Knob::DoRemat) == 0 || isSkipped(function, context)) return false;
  return hasTarget(function, context) && LiveInEngine(function, context, LiveInEngine::Mode::Early).run();
}

/// Phase 69. Values that live into the blocks with too many live registers are computed again in the blocks that read
/// them (phases/remat/live_in_engine.h): against spills, or for a better occupancy class. Knobs DoRemat, NoRemat and
/// the others of the literature's `nvvmrematerialize`.
bool oriDoRemat(ori::Function& function, PhaseContext& context) {
  if (context.knobs.get(Knob::DoRemat) == 0 || isSkipped(function, context)) return false;
  if (context.knobs.get(Knob::DumpRemat) == 0 && !hasTarget(function, context)) return false;
  // What is computed is cheaper than what is loaded.
  const bool changed = LiveInEngine(function, context, LiveInEngine::Mode::Full).run();
  if (!context.knobs.enabled(Knob::RematLoad)) return changed;
  return LiveInEngine(function, context, LiveInEngine::Mode::WithLoads).run() || changed;
}

/// Phase 69d. Bits of values that live on anyway, and sums with them, are computed where they are read instead of
/// living out of the blocks that compute them. Knob SimplifyLiveOut: 1 = bits, 2 = sums too, 3 = also of operands that
/// do not live there, but take fewer registers.
bool simplifyLiveOut(ori::Function& function, PhaseContext& context) {
  if (context.knobs.get(Knob::SimplifyLiveOut) == 0 || isSkipped(function, context)) return false;
  return hasTarget(function, context) && LiveInEngine(function, context, LiveInEngine::Mode::LiveOut).run();
}

} // namespace orias::phases

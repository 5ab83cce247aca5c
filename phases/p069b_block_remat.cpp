#include "phases/phases.h"
#include "phases/remat/block_engine.h"
#include "phases/remat/cold_calls.h"

#include <fmt/format.h>
#include <memory>

namespace orias::phases {

/// Phase 69b. Where more registers are live than fit, or than a better occupancy class has, values are rematerialized
/// after that point instead of staying live across it (phases/remat/block_engine.h). Knobs NvRematBlock and the fifteen
/// others of the literature's `nv-remat-block`.
///
/// The literature uses a target of 70 registers for all chips (MaxRegKind 1, NvRematDefaultMaxReg). Here nothing is
/// done where neither spills are avoided nor a better occupancy class is reached, except after calls in cold blocks
/// (phases/remat/cold_calls.h).
bool blockRemat(ori::Function& function, PhaseContext& context) {
  if (!context.knobs.enabled(Knob::NvRematBlock)) return false;
  if (context.knobs.lists(Knob::NoMiRemat, function.name())) {
    if (context.dump && context.knobs.enabled(Knob::NvDumpRematBlock))
      *context.dump += fmt::format("Skip machine-instruction rematerialization on {}\n", function.name());
    return false;
  }
  const bool hasReloads = reloadAfterColdCalls(function, context) != 0;
  auto engine = std::make_unique<BlockEngine>(function, context);
  const std::vector<RematTarget> targets = engine->targets();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    // A reverted attempt leaves registers and counts behind.
    if (i != 0) engine = std::make_unique<BlockEngine>(function, context);
    if (engine->run(targets[i])) return true;
  }
  return hasReloads;
}

} // namespace orias::phases

// Phases 23 and 73: into partial SSA form and out of it.

#include "ori/ssa.h"
#include "phases/guarded_definitions.h"
#include "phases/phases.h"
#include "phases/split_lifetimes.h"

#include <fmt/format.h>

namespace orias::phases {

/// Phase 23. Gives each component of a register one definition, and inserts MOV.PHI where paths join. Guarded
/// computations become selects. Other guarded definitions keep their registers out of SSA form; the separate values
/// that such a register holds in different blocks get separate registers.
bool generateMovPhi(ori::Function& function, PhaseContext&) {
  splitLocalLifetimes(function);
  chooseGuardedResults(function);
  ori::buildSsa(function);
  return true;
}

/// Phase 73. Phis become copies, most of which coalesce at once. The knobs usedessa and cssa-coalesce select which
/// copies do, and what counts as interference.
bool convertAllMovPhiToMov(ori::Function& function, PhaseContext& context) {
  constexpr std::int64_t kByLiveness = 1, kOfPhis = 1;
  const std::int64_t which = context.knobs.get(Knob::CssaCoalesce);
  const ori::Coalescing how{.ofPhisOnly = which == kOfPhis,
                            .byValue = context.knobs.get(Knob::Usedessa) != kByLiveness};
  const ori::SsaCopies copies = ori::destroySsa(function, how, which != 0);
  if (context.dump != nullptr && context.knobs.enabled(Knob::CssaVerbosity))
    *context.dump +=
        fmt::format("// {}: {} copies of phis, {} copies merged\n", function.name(), copies.made, copies.merged);
  return true;
}

} // namespace orias::phases

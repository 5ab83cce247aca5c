// Phases 23 and 73: into partial SSA form and out of it.

#include "ori/ssa.h"
#include "phases/guarded_definitions.h"
#include "phases/phases.h"
#include "phases/split_lifetimes.h"

#include <fmt/format.h>

namespace orias::phases {

/// Phase 23. One definition for each component of a register; where paths join, MOV.PHI. Guarded definitions that
/// compute become choices; others keep registers out of it, and what such registers hold in one block after the other
/// gets registers of its own.
bool generateMovPhi(ori::Function& function, PhaseContext&) {
  splitLocalLifetimes(function);
  chooseGuardedResults(function);
  ori::buildSsa(function);
  return true;
}

/// Phase 73. Phis become copies, most of which coalesce at once: which ones, and what counts as interference, say the
/// knobs usedessa and cssa-coalesce.
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

// Phases 23 and 73: into partial SSA form and out of it.

#include "ori/ssa.h"
#include "phases/phases.h"
#include "phases/split_lifetimes.h"

namespace orias::phases {

/// Phase 23. One definition for each component of a register; where paths join, MOV.PHI. Guarded definitions keep
/// registers out of it; what such registers hold in one block after the other gets registers of its own.
bool generateMovPhi(ori::Function& function, PhaseContext&) {
  splitLocalLifetimes(function);
  ori::buildSsa(function);
  return true;
}

/// Phase 73. Phis become copies, most of which coalesce at once.
bool convertAllMovPhiToMov(ori::Function& function, PhaseContext&) {
  ori::destroySsa(function);
  return true;
}

} // namespace orias::phases

// Phases 23 and 73: into partial SSA form and out of it.

#include "ori/ssa.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 23. One definition for each component of a register; where paths join, MOV.PHI.
bool generateMovPhi(ori::Function& function, PhaseContext&) {
  ori::buildSsa(function);
  return true;
}

/// Phase 73. Phis become copies, most of which coalesce at once.
bool convertAllMovPhiToMov(ori::Function& function, PhaseContext&) {
  ori::destroySsa(function);
  return true;
}

} // namespace orias::phases

#pragma once

#include "ori/analysis/loops.h"

#include <vector>

namespace orias::phases {

/// The loops in which a lane may wait for another lane of its warp: the exit depends on atomic operations, strong loads
/// or tests of mbarriers. Excluded are:
/// * loops that the whole warp enters together and where all lanes read the same address: they wait for other warps;
/// * loops around a compare-and-swap that a lane leaves as soon as it succeeds: if it fails, another lane has
///   succeeded (ptxas yields in these, too);
/// * loops that sleep, since NANOSLEEP yields.
/// Otherwise ptxas yields in the same loops (observed on sm_90). In SSA form or not.
std::vector<ori::LoopId> findSpinLoops(ori::Function& function);

} // namespace orias::phases

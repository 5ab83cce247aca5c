#pragma once

#include "ori/analysis/loops.h"

#include <vector>

namespace orias::phases {

/// The loops in which a lane may wait for another lane of its warp: atomic operations, strong loads and tests of
/// mbarriers decide whether it leaves. Not among them:
/// * loops that the whole warp enters together and in which all lanes read the same place: they wait for other warps;
/// * loops around a compare-and-swap from which a lane goes as soon as that succeeds: when it fails, another lane has
///   succeeded (ptxas yields in these, too);
/// * loops that sleep, since NANOSLEEP yields.
/// ptxas yields in the same loops otherwise (observed on sm_90). In SSA form or not.
std::vector<ori::LoopId> findSpinLoops(ori::Function& function);

} // namespace orias::phases

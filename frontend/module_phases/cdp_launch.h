#pragma once

#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"
#include "support/diagnostics.h"

namespace orias::ptx {

/// Phase M4, CDPLaunchExpander and CDPParameterBuffer: redirects the calls by which kernels launch kernels
/// (cudaLaunchDevice, cudaGetParameterBuffer and their V2 forms) to the device runtime functions of `variant` (1 or 2).
ModulePhaseResult expandCdpLaunches(Module& module, Diagnostics& diagnostics, unsigned variant);

} // namespace orias::ptx

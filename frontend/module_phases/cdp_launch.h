#pragma once

#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"
#include "support/diagnostics.h"

namespace orias::ptx {

/// Phase M4, CDPLaunchExpander and CDPParameterBuffer: redirects the calls by which kernels launch kernels
/// (cudaLaunchDevice, cudaGetParameterBuffer and their V2 forms) to the device runtime functions of `variant` (1 or 2).
///
/// A call of cudaGetParameterBuffer(alignment, size) becomes the V2 form, which takes the kernel and the geometry, if
/// its buffer has a single launch and the geometry of that launch is known before the allocation: constants, and
/// registers with one definition before it. The launch then passes only the buffer and the stream. Otherwise both
/// remain legacy calls, under the names of the variant, with a warning.
///
/// Reports an error if the launched function is not a kernel.
ModulePhaseResult expandCdpLaunches(Module& module, Diagnostics& diagnostics, unsigned variant);

} // namespace orias::ptx

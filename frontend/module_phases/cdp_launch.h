#pragma once

#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"
#include "support/diagnostics.h"

namespace orias::ptx {

/// Phase M4, CDPLaunchExpander and CDPParameterBuffer: calls of the functions by which kernels launch kernels name
/// those of the device runtime that `variant` (1 or 2) has: cudaLaunchDevice and cudaGetParameterBuffer, and their V2
/// forms.
///
/// A call of cudaGetParameterBuffer(alignment, size) becomes the V2 form, which takes the kernel and the geometry, if
/// the one launch with its buffer has a geometry that is known in front of the allocation: constants, and registers
/// with one definition before it. The launch then passes the buffer and the stream only. Else both stay the legacy
/// calls, under the names of the variant, with a warning.
///
/// What is launched must be a kernel: an error otherwise.
ModulePhaseResult expandCdpLaunches(Module& module, Diagnostics& diagnostics, unsigned variant);

} // namespace orias::ptx

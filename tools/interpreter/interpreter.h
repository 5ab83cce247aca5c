#pragma once

#include "frontend/module.h"
#include "tools/launch/launch.h"

namespace orias::interp {

/// Runs the kernel of `device.launch` on `device.global`, as the PTX manual specifies. README.md lists what the manual
/// leaves open and the choices made here. The module must have been parsed and checked without errors. Variables of the
/// module become allocations of `device.global` under their PTX names.
///
/// Failures of the program (a fault, a trap, a deadlock, the budget, an instruction that is not implemented) are
/// Reports of the result. Throws orias::Error if the launch does not match the module: no such kernel, parameters that
/// do not match.
launch::RunResult run(const ptx::Module& module, launch::Device& device, const launch::RunOptions& options = {});

} // namespace orias::interp

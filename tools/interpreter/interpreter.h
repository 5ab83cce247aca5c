#pragma once

#include "frontend/module.h"
#include "tools/launch/launch.h"

namespace orias::interp {

/// Runs the kernel that `device.launch` names on `device.global`, as the PTX manual says; README.md lists what the
/// manual leaves open and what is chosen here. The module must have been parsed and checked without errors. Variables
/// of the module become allocations of `device.global` under their PTX names.
///
/// What goes wrong in the program (a fault, a trap, a deadlock, the budget, an instruction that is not implemented) is
/// a Report of the result. Throws orias::Error when the launch does not fit the module: no such kernel, parameters that
/// do not match.
launch::RunResult run(const ptx::Module& module, launch::Device& device, const launch::RunOptions& options = {});

} // namespace orias::interp

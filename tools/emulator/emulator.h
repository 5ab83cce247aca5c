#pragma once

#include "tools/emulator/program.h"
#include "tools/launch/launch.h"

namespace orias::emu {

/// Runs a launch. Grid, block and arguments come from `device`, whose buffers are written. Module variables are
/// allocated in Device::global under their names unless they already exist. Failures of the program are in the result.
/// Throws orias::Error for a launch that does not match the program (arguments, too large a block), and for
/// RunOptions::timing with Ori, which has no control words. Stats: instructions by pipe, and the number of warp
/// divergences.
launch::RunResult run(const Program& program, launch::Device& device, const launch::RunOptions& options = {});

} // namespace orias::emu

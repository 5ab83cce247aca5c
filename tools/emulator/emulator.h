#pragma once

#include "tools/emulator/program.h"
#include "tools/launch/launch.h"

namespace orias::emu {

/// Runs a launch: grid, block and arguments come from `device`, whose buffers are written. Module variables are
/// allocated in Device::global under their names unless they are there already. What goes wrong is in the result;
/// throws orias::Error for a launch that does not fit the program (arguments, too large a block), and for
/// RunOptions::timing with Ori, which has no control words. Stats: instructions by pipe, and how often warps were
/// divided.
launch::RunResult run(const Program& program, launch::Device& device, const launch::RunOptions& options = {});

} // namespace orias::emu

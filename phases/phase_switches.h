#pragma once

#include "phases/knobs.h"

#include <string_view>

namespace orias::phases {

/// Whether a knob with a name of the public description (disable-machine-cse, nv-disable-remat, ...) turns off the
/// phase with this number. Which phases a knob stands for is what its line in knobs.def says.
bool isSwitchedOff(const Knobs& knobs, std::string_view phase);

} // namespace orias::phases

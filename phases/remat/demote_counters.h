#pragma once

#include "phases/phase.h"

namespace orias::phases {

/// Counters of 64 bits that never need more than 32 become counters of one word: their high words go, and what reads
/// one reads zero, or the sign of the low word. Knob RematIv tells how far that goes. True when anything changed.
bool demoteCounters(ori::Function& function, PhaseContext& context);

} // namespace orias::phases

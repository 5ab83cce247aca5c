#pragma once

#include "phases/knobs.h"

namespace orias::phases {

/// The purpose of a knob, as given by its line in knobs.def.
enum class KnobUse : std::uint8_t {
  Tuning,    ///< ORIAS_KNOB: the code is correct with every value; only its speed may change
  Debugging, ///< ORIAS_DEBUG_KNOB: output, checks, and simple variants for comparison
  Assumption ///< ORIAS_ASSUMPTION_KNOB: the code is correct only if the program has a property
};

/// `knob` must be one of allKnobs().
KnobUse useOf(const KnobInfo& knob);

} // namespace orias::phases

#pragma once

#include "phases/knobs.h"

namespace orias::phases {

/// What a knob is for; its line in knobs.def says so.
enum class KnobUse : std::uint8_t {
  Tuning,    ///< ORIAS_KNOB: the code is right with every value, and may be faster with another one
  Debugging, ///< ORIAS_DEBUG_KNOB: output, checks, and simple forms to compare with
  Assumption ///< ORIAS_ASSUMPTION_KNOB: the code is right only if the program has a property
};

/// `knob` is one of allKnobs().
KnobUse useOf(const KnobInfo& knob);

} // namespace orias::phases

#pragma once

#include "phases/knobs.h"

#include <string_view>
#include <vector>

namespace orias::phases {

/// The phases that knobs with names of the public description (disable-machine-cse, nv-disable-remat, ...) disable. The
/// line of a knob in knobs.def gives its phases.
class PhaseSwitches {
 public:
  explicit PhaseSwitches(const Knobs& knobs);

  /// Whether the knobs disable the phase with this number.
  bool turnOff(std::string_view phase) const;

 private:
  std::vector<std::string_view> off_; // lists of phases
};

} // namespace orias::phases

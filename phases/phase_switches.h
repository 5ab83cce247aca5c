#pragma once

#include "phases/knobs.h"

#include <string_view>
#include <vector>

namespace orias::phases {

/// The phases that knobs with names of the public description (disable-machine-cse, nv-disable-remat, ...) turn off.
/// Which phases a knob stands for is what its line in knobs.def says.
class PhaseSwitches {
 public:
  explicit PhaseSwitches(const Knobs& knobs);

  /// Whether they turn off the phase with this number.
  bool turnOff(std::string_view phase) const;

 private:
  std::vector<std::string_view> off_; // lists of phases
};

} // namespace orias::phases

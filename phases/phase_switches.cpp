#include "phases/phase_switches.h"

#include <algorithm>

namespace orias::phases {

namespace {

/// Knobs that disable their phases if they do not have the default value.
constexpr Knob kSwitches[] = {
    Knob::DisableMachineDce, Knob::DisableMachineLicm,   Knob::DisablePostraMachineLicm,
    Knob::DisableMachineCse, Knob::DisableMachineSink,   Knob::DisablePostraMachineSink,
    Knob::DisableBranchFold, Knob::DisableTailDuplicate, Knob::DisableEarlyIfcvt,
    Knob::DisablePeephole,   Knob::DisableCopyprop,      Knob::DisablePostRa,
    Knob::NvDisableMem2reg,  Knob::NvDisableRemat,       Knob::RematEnable,
    Knob::EnableMlicm,       Knob::EnableMcse,           Knob::NvptxEnableMachineSink,
};

/// Whether a list with the separator ", " contains the item.
bool lists(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const std::size_t comma = list.find(", ");
    if (list.substr(0, comma) == item) return true;
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 2);
  }
  return false;
}

} // namespace

PhaseSwitches::PhaseSwitches(const Knobs& knobs) {
  for (const Knob knob : kSwitches) {
    const KnobInfo& info = allKnobs()[static_cast<std::size_t>(knob)];
    if (knobs.get(knob) != info.defaultValue) off_.push_back(info.phase);
  }
}

bool PhaseSwitches::turnOff(std::string_view phase) const {
  return std::ranges::any_of(off_, [&](std::string_view list) { return lists(list, phase); });
}

} // namespace orias::phases

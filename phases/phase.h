#pragma once

#include "ori/function.h"
#include "phases/knobs.h"
#include "phases/param_binding.h"
#include "phases/register_report.h"
#include "phases/remarks.h"

#include <span>
#include <string>
#include <string_view>

namespace orias {
class Diagnostics;
namespace isa {
class Target;
}
namespace encoder {
struct FunctionCode;
}
} // namespace orias

namespace orias::phases {

/// What a phase may read and write besides the function itself.
struct PhaseContext {
  const isa::Target& target;
  const Knobs& knobs;
  unsigned optLevel;     ///< 0..4
  unsigned maxRegisters; ///< ceiling for R from options and launch bounds; 255 when nothing bounds it
  Remarks& remarks;
  Diagnostics& diagnostics;
  encoder::FunctionCode& code;              ///< the words and the listing: written by stage 10
  std::span<const ParamBinding> bindings{}; ///< parameters whose values are known, of all kernels
  std::string* dump = nullptr;              ///< what knobs ask a phase to print; null: nobody reads it
  std::span<const RegisterQuery> queries{}; ///< what phase 101 is asked about registers; the answers go to `dump`
};

enum class Stage : std::uint8_t {
  Setup = 1,
  EarlyOptimisation,
  Middle,
  LateOptimisation,
  Legalisation,
  SchedulingAndRegisters,
  PostAllocation,
  Control,
  Layout,
  Words
};

using PhaseFunction = bool (*)(ori::Function&, PhaseContext&);

/// One line of the pipeline.
struct PhaseInfo {
  std::string_view number; ///< "13", "37b"
  std::string_view name;
  Stage stage;
  std::uint8_t lowestO;  ///< runs at this -O level and above
  std::uint8_t highestO; ///< and up to this one
  bool optional;         ///< --disable-phase may turn it off: the code stays right without it
  PhaseFunction run;     ///< true when it changed something
  std::string_view why;  ///< why it stands here
};

/// The whole list, in the order in which the phases run.
std::span<const PhaseInfo> pipeline();

/// Finds a phase by number or name (case does not count); null when there is none.
const PhaseInfo* findPhase(std::string_view numberOrName);

/// Like findPhase, but throws orias::Error with the nearest name.
const PhaseInfo& requirePhase(std::string_view numberOrName);

} // namespace orias::phases

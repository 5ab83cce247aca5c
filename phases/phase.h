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

/// What a phase may read and write in addition to the function.
struct PhaseContext {
  const isa::Target& target;
  const Knobs& knobs;
  unsigned optLevel;     ///< 0..4
  unsigned maxRegisters; ///< register limit for R from options and launch bounds; 255 if there is none
  Remarks& remarks;
  Diagnostics& diagnostics;
  encoder::FunctionCode& code;              ///< the encodings and the listing: written by stage 10
  std::span<const ParamBinding> bindings{}; ///< known parameter values, of all kernels
  std::string* dump = nullptr;              ///< output of the dump knobs; null: not requested
  std::span<const RegisterQuery> queries{}; ///< queries about registers for phase 101; the answers go to `dump`
  RegisterAccounts* accounts = nullptr;     ///< all answers of phase 101; null: not requested
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
  std::uint8_t highestO; ///< the highest -O level at which it runs
  bool optional;         ///< --disable-phase may disable it: the code remains correct without it
  PhaseFunction run;     ///< returns whether it changed something
  std::string_view why;  ///< why it runs at this point
};

/// The whole list, in the order in which the phases run.
std::span<const PhaseInfo> pipeline();

/// Finds a phase by number or name (case-insensitive); null if there is none.
const PhaseInfo* findPhase(std::string_view numberOrName);

/// Like findPhase, but throws orias::Error with the nearest name.
const PhaseInfo& requirePhase(std::string_view numberOrName);

} // namespace orias::phases

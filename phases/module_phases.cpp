#include "phases/module_phases.h"

#include "support/check.h"
#include "support/nearest.h"

#include <string>

namespace orias::phases {

namespace {

constexpr bool kNeeded = false, kOptional = true;
constexpr bool kBefore = true, kAfter = false;

// A line: number, name, lowest -O, highest -O, may be disabled, before or after the function phases, and what it does
// or why it runs at this point. The numbers are those of the module phases of the public literature.
constexpr ModulePhase kPhases[] = {
    {"M1", "Pretreat", 0, 4, kOptional, kBefore,
     "canonicalizes the PTX, so that later phases recognize equal expressions"},
    {"M12", "AllocaHoisting", 1, 4, kOptional, kBefore,
     "variables of the frame instead of stack memory; M6 then knows which object an address is of"},
    {"M4", "CDPLaunchExpander", 0, 4, kOptional, kBefore,
     "resolves device-side launches to the functions of the device runtime"},
    {"M6", "MemorySpaceOptFirstTime", 0, 4, kOptional, kBefore,
     "PTX still names variables and state spaces, and lowering can emit code for the resolved space"},
    {"M7", "IPMSP", 1, 4, kOptional, kBefore,
     "propagates state spaces through calls, while functions are not inlined yet"},
    {"M9", "ParamOpt", 1, 4, kOptional, kBefore,
     "removes redundant and unused loads of parameters, now that state spaces are known"},
    {"M5", "InlineMust", 0, 4, kOptional, kBefore, "inlines calls; if disabled, every function keeps its own code"},
    {"M2", "KernelAttr", 0, 4, kNeeded, kBefore,
     "derives register limits of kernels and their callees from launch bounds and options"},
    {"M10", "RemoveDeadFunctions", 0, 4, kOptional, kAfter,
     "calls and tables are final, so the functions that no kernel reaches are known"},
    {"M11", "KernelInfoPrinter", 0, 4, kOptional, kAfter, "counts the final instructions, with --kernel-info"},
};

} // namespace

std::span<const ModulePhase> modulePhases() {
  return kPhases;
}

const ModulePhase* findModulePhase(std::string_view numberOrName) {
  for (const ModulePhase& phase : kPhases)
    if (sameText(phase.number, numberOrName) || sameText(phase.name, numberOrName)) return &phase;
  return nullptr;
}

const ModulePhase& modulePhase(std::string_view number) {
  const ModulePhase* phase = findModulePhase(number);
  ORIAS_CHECK(phase != nullptr, std::string(number));
  return *phase;
}

} // namespace orias::phases

#include "phases/module_phases.h"

#include "support/check.h"
#include "support/nearest.h"

#include <string>

namespace orias::phases {

namespace {

constexpr bool kNeeded = false, kOptional = true;
constexpr bool kBefore = true, kAfter = false;

// A line: number, name, lowest -O, highest -O, may be disabled, before or after the phases of functions, and what it
// does or why it runs at this point. The numbers are those of the module phases of the public literature.
constexpr ModulePhase kPhases[] = {
    {"M1", "Pretreat", 0, 4, kOptional, kBefore,
     "makes equal things look equal, so that the phases behind it see them"},
    {"M4", "CDPLaunchExpander", 0, 4, kOptional, kBefore,
     "calls that launch kernels name the functions of the device runtime that there are"},
    {"M6", "MemorySpaceOptFirstTime", 0, 4, kOptional, kBefore,
     "PTX still names variables and spaces, and lowering makes the code of the space at once"},
    {"M7", "IPMSP", 1, 4, kOptional, kBefore,
     "the spaces that callers pass and callees return, while functions and calls are still there"},
    {"M9", "ParamOpt", 1, 4, kOptional, kBefore,
     "loads of parameters that are there already, or that nobody reads any more when spaces are known"},
    {"M5", "InlineMust", 0, 4, kOptional, kBefore,
     "lowering copies bodies of functions into their callers; without it functions keep code of their own"},
    {"M2", "KernelAttr", 0, 4, kNeeded, kBefore,
     "launch bounds of directives and options limit the registers of kernels and of what they call"},
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

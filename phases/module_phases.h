#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace orias::phases {

/// A phase that works on a whole module. The library runs them (orias/compilation.cpp): most before the function
/// phases, some after all functions are done.
struct ModulePhase {
  std::string_view number; ///< "M6"
  std::string_view name;
  std::uint8_t lowestO;  ///< runs at this -O level and above
  std::uint8_t highestO; ///< the highest -O level at which it runs
  bool isOptional;       ///< --disable-phase may disable it: the code remains correct without it
  bool isBeforeFunctions;
  std::string_view why; ///< what it does or why it runs at this point
};

/// The list of module phases in the order in which they run.
std::span<const ModulePhase> modulePhases();

/// Finds a module phase by number or name (case-insensitive); null if there is none.
const ModulePhase* findModulePhase(std::string_view numberOrName);

/// Like findModulePhase for a phase that exists.
const ModulePhase& modulePhase(std::string_view number);

} // namespace orias::phases

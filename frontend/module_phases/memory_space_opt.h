#pragma once

#include "frontend/growing_forms.h"
#include "frontend/module.h"
#include "frontend/module_phases/module_remark.h"
#include "frontend/module_phases/pointer_spaces.h"
#include "support/diagnostics.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace orias::ptx {

/// Limits on the cloning by module phase M7.
struct CloneLimits {
  std::int64_t most = -1;          ///< functions; -1: any number
  std::uint64_t growthPercent = 0; ///< the instructions of all clones, in percent of the module's
  bool isOn() const { return most != 0 && growthPercent != 0; }
};

struct MemorySpaceOptions {
  SpaceAssumptions assumptions;
  CloneLimits cloning;
  bool resolvesWmma = true;
  /// Also resolves accesses that need an additional instruction. Without optimization they would cost more than they
  /// save.
  bool mayConvert = true;
  bool wantRemarks = false;
  std::string* trace = nullptr; ///< if not null, receives the steps across calls
};

/// The locations of instructions that were already warned about.
using WarnedPlaces = std::set<std::pair<std::uint32_t, std::uint32_t>>;

/// Phase M6, MemorySpaceOpt (first time): generic accesses get the space of their address where it is proved
/// (PointerSpaces), and isspacep is decided. The phase works on PTX because variables and spaces still have names
/// there, and registers of a function are not yet mixed with those of callees. Lowering then emits the code of the
/// space directly, without the loops that generic atomics require. Accesses without a proof remain generic; no space is
/// guessed.
///
/// An address that is a variable plus a number is written as such, at no cost. Other addresses in shared, local and
/// constant memory are converted before the access (cvta.to). The optimizer folds this with the conversion that made
/// them generic.
///
/// Warns of atomics, and matrix loads and stores, on spaces that do not support them.
///
/// Phase M7, IPMSP, is the same analysis with SpaceAssumptions::followsCalls: it also knows the arguments of callers
/// and the results of callees. Functions that are called with addresses in several spaces are cloned first
/// (function_clones.h). Functions that other modules or pointers may reach keep generic accesses.
ModulePhaseResult memorySpaceOpt(Module& module, GrowingForms& growing, Diagnostics& diagnostics,
                                 const MemorySpaceOptions& options, WarnedPlaces& warned);

} // namespace orias::ptx

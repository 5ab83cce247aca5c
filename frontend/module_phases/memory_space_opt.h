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

/// How much of a module phase M7 may clone.
struct CloneLimits {
  std::int64_t most = -1;          ///< functions; -1: any number
  std::uint64_t growthPercent = 0; ///< the instructions of all clones, in percent of the module's
  bool isOn() const { return most != 0 && growthPercent != 0; }
};

struct MemorySpaceOptions {
  SpaceAssumptions assumptions;
  CloneLimits cloning;
  bool resolvesWmma = true;
  /// Accesses that need an instruction more for it are resolved, too. Where nothing is optimized they would cost more
  /// than they save.
  bool mayConvert = true;
  bool wantRemarks = false;
  std::string* trace = nullptr; ///< the steps across calls, if not null
};

/// Places of instructions that have been warned of: each is once.
using WarnedPlaces = std::set<std::pair<std::uint32_t, std::uint32_t>>;

/// Phase M6, MemorySpaceOpt (first time): generic accesses get the space of their address where it is proved
/// (PointerSpaces), and isspacep the answer. It works on PTX: variables and spaces still have names there, the
/// registers of a frame are not mixed with those of callees yet, and lowering then makes the code of the space at once,
/// without the loops that generic atomic operations need. What is not proved stays generic; no space is guessed.
///
/// An address that is a variable plus a number is written as such, which costs no instruction. Other addresses in
/// shared, local and constant memory are converted before the access (cvta.to), which the optimizer joins with the
/// conversion that made them generic.
///
/// Atomic operations, and matrix loads and stores, on spaces that do not have them are warned of.
///
/// Phase M7, IPMSP, is the same with SpaceAssumptions::followsCalls: what callers pass and callees return is known,
/// too. Functions that are called with addresses in several spaces are cloned first (function_clones.h). Functions that
/// other modules or pointers may reach keep generic accesses.
ModulePhaseResult memorySpaceOpt(Module& module, GrowingForms& growing, Diagnostics& diagnostics,
                                 const MemorySpaceOptions& options, WarnedPlaces& warned);

} // namespace orias::ptx

#pragma once

#include "frontend/module.h"
#include "frontend/module_phases/pointer_spaces.h"
#include "support/diagnostics.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace orias::ptx {

struct MemorySpaceOptions {
  SpaceAssumptions assumptions;
  bool resolvesWmma = true;
  /// Accesses that need an instruction more for it are resolved, too. Where nothing is optimized they would cost more
  /// than they save.
  bool mayConvert = true;
  bool wantRemarks = false;
  std::string* trace = nullptr; ///< the steps across calls, if not null
};

/// An access through a generic address: what became of it.
struct SpaceRemark {
  FunctionId function = FunctionId::None;
  std::uint32_t line = 0;
  bool isResolved = false;
  std::string message;
};

struct MemorySpaceResult {
  bool hasChanged = false;
  std::vector<SpaceRemark> remarks; ///< if wanted
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
/// too. Functions that other modules or pointers may reach keep generic accesses; none is cloned.
MemorySpaceResult memorySpaceOpt(Module& module, Diagnostics& diagnostics, const MemorySpaceOptions& options,
                                 WarnedPlaces& warned);

} // namespace orias::ptx

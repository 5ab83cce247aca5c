#pragma once

#include "regalloc/assignment.h"
#include "regalloc/slots.h"
#include "regalloc/webs.h"

#include <vector>

namespace orias::regalloc {

class Recomputation;

/// Spill state over all passes of all register files.
struct SpillState {
  explicit SpillState(const ori::Function& function);
  /// Extends the tables to registers made since.
  void grow(const ori::Function& function);

  std::vector<bool> unspillable; ///< by virtual register: temporaries of spill code
  Assignment assignment;         ///< standsFor, partOf, spillMoves, spillWords; `physical` is filled at the end
  bool usesFrame = false;
  unsigned storeBytes = 0;
  unsigned loadBytes = 0;
  unsigned rematerialised = 0;
};

/// The webs to spill so that no point needs more than `limit` registers: at each point above it, the cheapest ones
/// live there. `limits` says where fewer than `limit` are available. Empty where the pressure is within the limits.
std::vector<std::uint32_t> chooseSpills(const Webs& webs, unsigned limit, const PointLimits& limits);

/// The webs to spill where the pressure is within the limit, but `placement` found no aligned run for some webs: for
/// each of them, the webs in the run that costs least to clear, or the web itself. Empty where each run has a temporary
/// of spill code.
std::vector<std::uint32_t> clearRuns(const Webs& webs, const Placement& placement, const SlotBudget& budget);

/// Where the members of a web go.
enum class Refuge : std::uint8_t {
  Usual,  ///< R to local memory, P and UR to registers of file R, UP to those of UR
  Uniform ///< R to registers of UR, for webs that `UniformRefuge` takes
};

/// Takes all members of a web out of their register file, or recomputes them where that is cheap and `remat`: from
/// constants, or as `recomputation` has chosen. Each reference gets a temporary of its own that lives for one
/// instruction. True when they are recomputed.
bool spillWeb(ori::Function& function, const Web& web, isa::File file, bool remat, SpillState& state,
              Refuge refuge = Refuge::Usual, Recomputation* recomputation = nullptr);

} // namespace orias::regalloc

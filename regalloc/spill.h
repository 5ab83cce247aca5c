#pragma once

#include "regalloc/assignment.h"
#include "regalloc/register_placement.h"
#include "regalloc/webs.h"

#include <vector>

namespace orias::regalloc {

class Recomputation;
struct Victim;

/// Spill state over all passes of all register files.
struct SpillState {
  explicit SpillState(const ori::Function& function);
  /// Extends the tables to registers created since.
  void grow(const ori::Function& function);

  std::vector<bool> unspillable; ///< by virtual register: temporaries of spill code
  std::vector<Home> homes;       ///< by virtual register: the slot of parts of spilled values
  Assignment assignment;         ///< standsFor, partOf, spillMoves, spillWords; `physical` is filled at the end
  bool usesFrame = false;
  unsigned storeBytes = 0;
  unsigned loadBytes = 0;
  unsigned rematerialised = 0;
};

/// The webs to spill so that no point needs more than `limit` registers: at each point above it, the cheapest ones
/// live there. `limits` says where fewer than `limit` are available. Empty where the pressure is within the limits.
std::vector<std::uint32_t> chooseSpills(const Webs& webs, unsigned limit, const PointLimits& limits);

/// The webs to spill where the pressure is within the limit, but `placement` found no aligned run for some webs. For
/// each of those: the webs in the run that is cheapest to clear, or the web itself. Webs that are live at the same time
/// get different runs. Where each run has a temporary of spill code, as many registers are freed elsewhere.
std::vector<std::uint32_t> clearRuns(const Webs& webs, const Placement& placement, const RegisterBudget& budget);

/// Where the members of a web are spilled to.
enum class SpillTarget : std::uint8_t {
  Usual,  ///< R to local memory, P and UR to registers of file R, UP to registers of UR
  Uniform ///< R to registers of UR, for webs accepted by `UniformPromotion`
};

/// How a web is spilled.
struct SpillWay {
  bool remat = true; ///< rematerialize instead, where that is cheap
  SpillTarget target = SpillTarget::Usual;
  Recomputation* recomputation = nullptr; ///< which other values are recomputed, and how
  /// Where the web stays in registers, and the live ranges used for that decision; null: nowhere.
  const Victim* victim = nullptr;
  const LiveRanges* ranges = nullptr;
};

/// Takes all members of a web out of their register file, or recomputes them at their uses. A reference gets its own
/// temporary, which lives for one instruction, or shares one with other references (`SpillWay::victim`). Parts of
/// values that were spilled before get temporaries of their own. True if they are recomputed.
bool spillWeb(ori::Function& function, const Web& web, isa::File file, SpillState& state, const SpillWay& way);

} // namespace orias::regalloc

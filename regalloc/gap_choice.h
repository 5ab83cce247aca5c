#pragma once

#include "regalloc/life.h"
#include "regalloc/register_placement.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace orias::regalloc {

/// References of a spilled web that share a register: the web stays in it between them.
struct Piece {
  std::uint32_t references = 0;
  /// Blocks at whose ends the value is reloaded, and the points where it is needed: the beginnings of their successors.
  std::vector<std::pair<ori::BlockId, Point>> reloads;
  /// One reference, with registers of its own for one instruction.
  bool isSingle() const { return references == 1 && reloads.empty(); }
};

/// A web that leaves its registers: everywhere, with a register of its own for each reference, or in some gaps.
struct Victim {
  std::uint32_t web = 0;
  bool isWhole = true;
  /// Weight of the stores and reloads divided by the registers that they free, summed over the points with too high
  /// pressure. 0 if the web was chosen for another reason.
  double cost = 0;
  Life life = {};                          ///< only set, as all members below, if not isWhole
  std::vector<std::uint32_t> pieceOf = {}; ///< by reference
  std::vector<bool> isReloaded = {};       ///< by reference: the value is in memory before it
  std::vector<Piece> pieces = {};
};

/// The webs to keep in memory so that no point needs more than `limit` registers, and where: at each point above it the
/// gaps with the lowest cost per freed register. Everywhere else a web stays in registers, or returns where there is
/// room. `limits` says where fewer than `limit` are available. `isWhole` selects webs that are spilled everywhere or
/// not at all. Empty where the pressure is within the limits.
std::vector<Victim> chooseGaps(const Webs& webs, const NumberedCode& code, unsigned limit, const PointLimits& limits,
                               const std::function<bool(std::uint32_t)>& isWhole);

/// The weight of the stores and reloads of spilled webs.
double spillWeight(std::span<const Victim> victims, const Webs& webs, const NumberedCode& code);

/// Keeps some webs in memory in all of their gaps that touch `where`.
std::vector<Victim> leaveRegisters(const Webs& webs, const NumberedCode& code, unsigned limit,
                                   std::span<const std::uint32_t> some, const Range& where);

} // namespace orias::regalloc

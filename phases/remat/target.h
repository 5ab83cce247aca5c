#pragma once

#include "ori/analysis/cfg.h"
#include "ori/analysis/register_pressure.h"
#include "ori/setmaxnreg.h"
#include "phases/occupancy.h"
#include "phases/phase.h"

#include <optional>
#include <string_view>
#include <vector>

namespace orias::phases {

/// How many registers of file R rematerialization aims at, and why. Counts are live registers, without those that the
/// target reserves.
struct RematTarget {
  enum class Reason : std::uint8_t {
    Limit,     ///< the function has no more registers; the excess is spilled. Each register saved helps
    Occupancy, ///< more warps fit on a multiprocessor. Only reaching the target helps
    Share      ///< the literature's 80%, or a number that a knob gives. Each register saved counts
  };
  unsigned registers = 0;
  Reason reason = Reason::Limit;
  unsigned otherwise = 0; ///< the registers of the function if it is not reached; 0: those that are live
};
std::string_view nameOf(RematTarget::Reason reason);

/// The targets of rematerialization, from the occupancy classes, launch bounds, options, and the knobs RematForOcc and
/// RematMaxregCeiling:
/// * If `live` is above the limit of the function (or of the knob): the limit, less some room for aligned tuples.
/// * If RematForOcc is 0: 80% of `live`.
/// * With RematBeforeSched: the limit of a class with at least RematForOcc percent of the current warps that is at most
///   16 registers below `live`.
/// Unless RematBeforeSched is set, phase 97 targets classes, when it knows the registers of its schedules.
class RematTargets {
 public:
  RematTargets(const ori::Function& function, const PhaseContext& context);

  /// The targets to try in sequence, the best first. Empty when nothing can be gained.
  std::vector<RematTarget> forLive(unsigned live) const;
  /// Whether there may be a target if at most this many registers are live.
  bool mayBeFor(unsigned most) const;
  /// The most registers that the function may have live, less room for tuples.
  unsigned limit() const { return limit_; }
  /// The limit in a block; lower where `setmaxnreg` leaves fewer (knob CtaReconfigAwareMrpa).
  unsigned limitIn(ori::BlockId id) const;
  /// The most registers that any block of a function is above `target`; a block's own limit counts where it is lower.
  unsigned excess(const ori::RegisterPressure& pressure, const ori::Cfg& cfg, const RematTarget& target) const;
  unsigned excessIn(ori::BlockId id, const ori::RegisterPressure& pressure, const RematTarget& target) const;
  /// Whether the warps gained by `after` live registers instead of `before` are worth `added` of `all` executed
  /// instructions (knob RematWorkForWarps).
  bool areWarpsWorth(unsigned before, unsigned after, double added, double all) const;

 private:
  unsigned usable(unsigned registers) const;
  /// The most registers that may be live before rematerialization is considered.
  unsigned ceiling() const;

  const PhaseContext& context_;
  OccupancyClasses classes_;
  std::optional<ori::WarpRegisterCounts> counts_; ///< of functions with `setmaxnreg`
  unsigned limit_ = 0;
};

} // namespace orias::phases

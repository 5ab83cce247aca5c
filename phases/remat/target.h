#pragma once

#include "ori/analysis/cfg.h"
#include "ori/analysis/register_pressure.h"
#include "ori/register_requests.h"
#include "phases/occupancy.h"
#include "phases/phase.h"

#include <optional>
#include <string_view>
#include <vector>

namespace orias::phases {

/// How many registers of file R rematerialisation aims at, and why. Counts are live registers, without those that the
/// target reserves.
struct RematTarget {
  enum class Reason : std::uint8_t {
    Limit,     ///< the function has no more registers: what is above is spilled. Each register less helps
    Occupancy, ///< more warps fit on a multiprocessor. Only reaching the target helps
    Share      ///< the literature's 80%, or a number that a knob gives. Each register less counts
  };
  unsigned registers = 0;
  Reason reason = Reason::Limit;
  unsigned otherwise = 0; ///< the registers of the function if it is not reached; 0: those that are live
};
std::string_view nameOf(RematTarget::Reason reason);

/// Where rematerialisation is to lead, from the occupancy classes, launch bounds, options, and the knobs RematForOcc
/// and RematMaxregCeiling:
/// * `live` is above the limit of the function (or of the knob): to the limit, less some room for aligned
///   tuples;
/// * RematForOcc is 0: to 80% of `live`;
/// * with RematBeforeSched, a class with at least RematForOcc percent of today's warps ends at most 16 registers below
///   `live`: to its end.
/// Without that knob, phase 97 aims at classes, when it knows what its orders need.
class RematTargets {
 public:
  RematTargets(const ori::Function& function, const PhaseContext& context);

  /// What to try one after the other, the best first. Empty when nothing is to be gained.
  std::vector<RematTarget> forLive(unsigned live) const;
  /// Whether there may be something, where at most so many registers are live.
  bool mayBeFor(unsigned most) const;
  /// The most registers that the function may have live, less room for tuples.
  unsigned limit() const { return limit_; }
  /// The limit in a block, where `setmaxnreg` leaves fewer (knob CtaReconfigAwareMrpa).
  unsigned limitIn(ori::BlockId id) const;
  /// How far a function is above `target`, at most, in any block; a block's own limit counts where it is lower.
  unsigned excess(const ori::RegisterPressure& pressure, const ori::Cfg& cfg, const RematTarget& target) const;
  unsigned excessIn(ori::BlockId id, const ori::RegisterPressure& pressure, const RematTarget& target) const;
  /// Whether the warps that fit with `after` live registers instead of `before` are worth `added` of `all` executed
  /// instructions (knob RematWorkForWarps).
  bool areWarpsWorth(unsigned before, unsigned after, double added, double all) const;

 private:
  unsigned usable(unsigned registers) const;
  /// The most registers that may be live without a reason to do something.
  unsigned ceiling() const;

  const PhaseContext& context_;
  OccupancyClasses classes_;
  std::optional<ori::RegisterCounts> counts_; ///< of functions with `setmaxnreg`
  unsigned limit_ = 0;
};

} // namespace orias::phases

#pragma once

#include "regalloc/allocate.h"
#include "regalloc/moves.h"
#include "regalloc/register_placement.h"

#include <functional>
#include <optional>

namespace orias::regalloc {

/// The kind of placement that a search prefers.
enum class Wanted : std::uint8_t { FewestRegisters, AnyComplete, LeastLacking };

/// A register limit at the end of an occupancy class, and the weight that spill code may have to reach it.
struct ClassGoal {
  unsigned limit = 0;
  double allowance = 0;
};

/// Searches placements of the webs of a register file, in particular those that reach an occupancy class. Code and webs
/// must not change.
class OccupancySearch {
 public:
  /// What the allocator knows about the function.
  struct Facts {
    bool hasCalls, hasQuadTextures;
    bool changesCounts; ///< warps give registers back and take them
    bool usesFrame;     ///< the stack pointer takes a register
  };

  OccupancySearch(const ori::Function& function, const AllocationOptions& options, const Webs& webs,
                  const NumberedCode& code, Placer& placer, Facts facts)
      : function_(function), options_(options), webs_(webs), code_(code), placer_(placer), facts_(facts) {}

  /// The best of some placements within the budget. It may be incomplete.
  Placement bestPlacement(const RegisterBudget& budget, Wanted wanted = Wanted::FewestRegisters);

  /// Whether values may move from one register to another between instructions.
  bool allowsMoves() const;

  /// Searches a placement in the occupancy class of the peak pressure, `occupied`, where the given placement needs more
  /// registers. With that lower limit, webs that find no run are placed first, and a few values change registers.
  /// Returns the limit.
  unsigned tightened(RegisterBudget budget, Placement& placement, std::optional<Moves>& moves, unsigned occupied);

  /// Whether all webs get registers, within the search cost of a query. Copies between registers are found faster than
  /// webs are mended, so mend() runs only if the search is thorough and few webs lack registers.
  bool canComplete(const RegisterBudget& budget, Search search);

  /// The weight of the spill code for a limit that is `excess` registers below the peak pressure.
  using SpillWeight = std::function<double(unsigned limit, unsigned excess)>;
  /// The class with the most warps for which spill code in cold blocks is enough, if the code fits in `used` registers
  /// without any. The peak pressure is `occupied`. `kept` registers hold no values.
  std::optional<ClassGoal> classWithSpills(unsigned used, unsigned occupied, unsigned kept,
                                           const SpillWeight& weightOfSpills) const;

 private:
  std::optional<Placement> completePlacement(const RegisterBudget& budget, std::optional<Moves>& moves);
  std::optional<Moves> cheapMoves(const RegisterBudget& budget, Placement& placement) const;
  double weightOfCode() const;

  const ori::Function& function_;
  const AllocationOptions& options_;
  const Webs& webs_;
  const NumberedCode& code_;
  Placer& placer_;
  Facts facts_;
};

} // namespace orias::regalloc

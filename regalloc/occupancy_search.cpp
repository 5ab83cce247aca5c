#include "regalloc/occupancy_search.h"

#include "ori/analysis/block_frequency.h"
#include "ori/call_abi.h"
#include "regalloc/accumulators.h"
#include "regalloc/function_abi.h"
#include "regalloc/mend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace orias::regalloc {

namespace {

/// Placements that are tried where an aligned run is missing. Each places the webs first that failed before.
constexpr unsigned kMaxReorderings = 6;
/// To reach an occupancy class, at most this many webs may lack a register, and the copies between registers may have
/// at most this fraction of the weight of all instructions.
constexpr std::size_t kMaxMoved = 16;
/// A caller that asks whether a class suffices has other schedules and classes to try, so only this many webs are
/// mended for the answer. Of 454 questions of real kernels, 5 were answered by mending, with at most 3 webs.
constexpr std::size_t kMaxMended = 4;
/// How many webs may be moved for such an answer. Of 133 attempts in the zoo 15 succeeded, with at most 124 moves. With
/// a limit of 128, one kernel of custatevec takes 64 instead of 56 registers.
constexpr std::size_t kMaxMovesOfQuestion = 192;
constexpr double kMaxWeightOfMoves = 0.05;
/// For twice the warps, spill code may have this share of the weight of all instructions, and less than one access
/// outside cold blocks. With a share of 0.05, 24 kernels of the zoo and of TritonBench became slower: a single launch
/// by 15%, a full multiprocessor by 1.5%. With accesses outside of loops, three kernels of OpenMM (findBlocks) lost
/// 15%.
constexpr double kMaxWeightOfSpills = 0.002, kMaxSpillsForClass = 0.99;

} // namespace

bool OccupancySearch::allowsMoves() const {
  return !facts_.hasCalls && !isCallable(function_) && !facts_.hasQuadTextures && !facts_.changesCounts &&
         !options_.singlePass && options_.debugDefs == nullptr && !hasAccumulators(function_);
}

Placement OccupancySearch::bestPlacement(const RegisterBudget& budget, Wanted wanted) {
  Placement best = placer_.place(budget, Order::ConstrainedFirst);
  if (wanted == Wanted::AnyComplete && best.failed.empty()) return best;
  // Prefers few failed webs, which are easily mended. Of placements that fail equally often, the one with fewer
  // registers.
  const auto isBetter = [&](const Placement& a, const Placement& b) {
    if (wanted == Wanted::LeastLacking) return lacksLess(a, b, webs_);
    return std::pair(a.failed.size(), a.used) < std::pair(b.failed.size(), b.used);
  };
  if (!options_.singlePass && budget.file == isa::File::R && options_.noSpillAttempts > 1)
    if (Placement other = placer_.place(budget, Order::ByStart); isBetter(other, best)) best = std::move(other);
  // Webs that found no run are placed first in the next attempt. One attempt per order is enough for a caller that
  // only asks whether a placement exists: it has other schedules and classes to try.
  const unsigned most = wanted == Wanted::AnyComplete ? 1 : kMaxReorderings;
  std::vector<bool> isEarly(webs_.all.size(), false);
  std::vector<std::uint32_t> failed = best.failed;
  for (const Order order : {Order::ConstrainedFirst, Order::ByStart}) {
    for (unsigned i = 0; i < most && !best.failed.empty() && !options_.singlePass; ++i) {
      if (std::ranges::all_of(failed, [&](std::uint32_t w) { return isEarly[w]; })) break; // the same placement again
      for (std::uint32_t w : failed)
        isEarly[w] = true;
      Placement other = placer_.place(budget, order, isEarly);
      failed = other.failed;
      if (isBetter(other, best)) best = std::move(other);
    }
    isEarly.assign(webs_.all.size(), false);
    failed = best.failed;
  }
  return best;
}

unsigned OccupancySearch::tightened(RegisterBudget budget, Placement& placement, std::optional<Moves>& moves,
                                    unsigned occupied) {
  if (!options_.freeRegisters || options_.singlePass || facts_.changesCounts) return budget.limit;
  if (facts_.usesFrame) ++occupied;
  budget.limit = std::min(options_.freeRegisters(occupied), budget.limit);
  if (placement.used <= budget.limit) return budget.limit;
  if (std::optional<Placement> tight = completePlacement(budget, moves)) placement = std::move(*tight);
  return budget.limit;
}

/// Returns a placement of all webs, if one is found: other webs get other registers, or `moves` says which webs change
/// registers.
std::optional<Placement> OccupancySearch::completePlacement(const RegisterBudget& budget, std::optional<Moves>& moves) {
  std::vector<Placement> tried;
  for (const Wanted what : {Wanted::FewestRegisters, Wanted::AnyComplete}) {
    Placement placement = bestPlacement(budget, what);
    if (!tried.empty() && placement == tried.front()) continue; // the placement that mend() could not complete
    placement = mend(webs_, budget, std::move(placement));
    if (placement.failed.empty()) return placement;
    tried.push_back(std::move(placement));
  }
  for (Placement& placement : tried)
    if ((moves = cheapMoves(budget, placement))) return std::move(placement);
  return std::nullopt;
}

bool OccupancySearch::canComplete(const RegisterBudget& budget, Search search) {
  std::array<Placement, 2> tried;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    tried[i] = bestPlacement(budget, i == 0 ? Wanted::AnyComplete : Wanted::FewestRegisters);
    if (tried[i].failed.empty()) return true;
    if (i != 0 && tried[i] == tried[0]) break;
    Placement complete = tried[i];
    if (cheapMoves(budget, complete)) return true;
  }
  return search == Search::Thorough && tried[0].failed.size() <= kMaxMended &&
         mend(webs_, budget, tried[0], kMaxMovesOfQuestion).failed.empty();
}

std::optional<ClassGoal> OccupancySearch::classWithSpills(unsigned used, unsigned occupied, unsigned kept,
                                                          const SpillWeight& weightOfSpills) const {
  const double warps = options_.warps(used), weight = weightOfCode();
  std::optional<ClassGoal> goal;
  for (unsigned limit = used - 1; limit > (facts_.hasCalls ? ori::kRegistersOfCalls : 1); --limit) {
    const double more = options_.warps(limit);
    if (more <= options_.warps(limit + 1)) continue;
    const double allowance = std::min(kMaxWeightOfSpills * std::log2(more / warps) * weight, kMaxSpillsForClass);
    const unsigned excess = occupied - std::min(occupied, limit - kept);
    // At least one store and one reload for each value.
    if (2 * ori::kColdFrequency * excess > allowance) break;
    if (weightOfSpills(limit, excess) > allowance) break;
    goal = {limit, allowance};
  }
  if (goal && options_.remark)
    options_.remark(
        function_.layout().front()->first,
        fmt::format("tries spill code in cold blocks for {} registers and {:.0f} warps, in place of {} and {:.0f}",
                    goal->limit, options_.warps(goal->limit), used, warps),
        used - goal->limit);
  return goal;
}

double OccupancySearch::weightOfCode() const {
  double weight = 0;
  for (const ori::Block* block : function_.layout())
    for (const ori::Instr& instr : *block)
      weight += weightOf(instr);
  return weight;
}

/// Finds moves between registers that cost less than an occupancy class gains.
std::optional<Moves> OccupancySearch::cheapMoves(const RegisterBudget& budget, Placement& placement) const {
  if (!allowsMoves() || placement.failed.size() > kMaxMoved) return std::nullopt;
  Placement complete = placement;
  std::optional<Moves> moves = placeByMoves(webs_, code_, budget, complete);
  if (!moves) return std::nullopt;
  if (moves->weight > kMaxWeightOfMoves * weightOfCode()) return std::nullopt;
  placement = std::move(complete);
  return moves;
}

} // namespace orias::regalloc

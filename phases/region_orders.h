#pragma once

// Orders of a region's instructions before registers are allocated, and what they cost.

#include "phases/dependence.h"
#include "phases/region_values.h"

#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace orias::phases {

using Order = std::vector<std::uint32_t>;

/// Cost of a register above the limit in cycles, by file: R goes to memory and back, the others to R.
inline constexpr std::array<int, kScheduledFiles.size()> kSpillCycles = {64, 18, 21, 18};

/// What an instruction takes of the machine.
struct IssueCost {
  std::uint8_t pipe = 0;     ///< 0: none that others wait for
  std::uint16_t cycles = 0;  ///< for which the pipe is taken
  std::uint16_t latency = 0; ///< expected, of its results
};

/// A region with everything that schedulers need.
struct ScheduleRegion {
  ScheduleRegion(std::span<ori::Instr* const> region, RegionValues regionValues, const isa::Target& chip);
  ScheduleRegion(const ScheduleRegion&) = delete;
  ScheduleRegion& operator=(const ScheduleRegion&) = delete;

  std::span<ori::Instr* const> instrs;
  RegionValues values;
  DependenceGraph graph;
  std::vector<IssueCost> costs;    ///< by node
  std::vector<unsigned> fromStart; ///< by node: cycles of the longest chain that it ends
  std::vector<unsigned> toEnd;     ///< by node: cycles of the longest chain that it begins

  /// Dependence::to is the predecessor.
  std::span<const Dependence> predecessors(std::uint32_t node) const {
    return {predecessors_.data() + predecessorsAt_[node], predecessors_.data() + predecessorsAt_[node + 1]};
  }
  /// The pressure before the first instruction and behind the last one, to copy for each order.
  template <typename Pressure> const Pressure& startOf() const {
    auto& start = std::get<std::optional<Pressure>>(starts_);
    return start ? *start : start.emplace(values);
  }
  /// The most values of each file that an instruction begins or ends.
  const std::array<int, kScheduledFiles.size()>& mostChanged() const { return mostChanged_; }

 private:
  std::vector<std::uint32_t> predecessorsAt_; // by node, into predecessors_
  std::vector<Dependence> predecessors_;
  std::array<int, kScheduledFiles.size()> mostChanged_{};
  mutable std::tuple<std::optional<ForwardPressure>, std::optional<BackwardPressure>> starts_;
};

/// What an order costs.
struct OrderCost {
  unsigned length = 0; ///< estimated cycles of one warp
  RegionCounts peak{}; ///< live registers by file
};
/// Predicates beyond so many wait in registers of file R, or are computed again: half of them count there.
OrderCost costOf(const ScheduleRegion& region, std::span<const std::uint32_t> order, unsigned predicates = ~0u);
/// A lower bound of OrderCost::length over all orders: the longest chain, and the work of the busiest pipe.
unsigned leastLength(const ScheduleRegion& region);
/// Cycles for which the busiest pipe, or the issue of one warp, is taken; the same for all orders.
unsigned busyCycles(const ScheduleRegion& region);

/// Instructions in program order.
Order sourceOrder(const ScheduleRegion& region);
/// Loads as early as they can be: the ready instruction with the longest path to the end, while no file is near its
/// limit; then what ends most values.
Order latencyFirst(const ScheduleRegion& region, const RegionCounts& limits);
/// What pressureAware takes when registers are short and no instruction ends a value.
enum class WhenShort : std::uint8_t {
  FewestRegisters, ///< the instruction that begins the fewest values
  SourceOrder,     ///< the last one in source order, which may end live ranges
  NewestReady      ///< behind barriers before in front of them, then what became ready last: tree after tree
};
/// From the last instruction to the first: what the longest path from the start leads to, while no file is near its
/// limit; then what ends values. After Goodman and Hsu (1988).
Order pressureAware(const ScheduleRegion& region, const RegionCounts& limits,
                    WhenShort whenShort = WhenShort::FewestRegisters);

/// One tree of operands after the other, and of each instruction's operands first the one whose own tree needs most
/// registers: few registers where many values are read once, as in reductions. After Sethi and Ullman (1970).
Order depthFirst(const ScheduleRegion& region);

/// The base order, with its stalls filled by later instructions, within the limits: an instruction is
/// only brought forward where all that is left, in the base order, keeps within them (or gets no worse there).
Order fillStalls(const ScheduleRegion& region, std::span<const std::uint32_t> base, const RegionCounts& limits);

} // namespace orias::phases

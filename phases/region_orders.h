#pragma once

// Schedules of a region before register allocation, and their costs.

#include "phases/dependence.h"
#include "phases/region_values.h"

#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace orias::phases {

using Order = std::vector<std::uint32_t>;

/// Cost in cycles of a register above the limit, by file: R is spilled to memory, the others to R.
inline constexpr std::array<int, kScheduledFiles.size()> kSpillCycles = {64, 18, 21, 18};

/// The machine resources that an instruction uses.
struct IssueCost {
  std::uint8_t pipe = 0;     ///< 0: no pipe that others wait for
  std::uint16_t cycles = 0;  ///< for which the pipe is busy
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
  /// The pressure before the first instruction (after the last one), to copy for each schedule.
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

/// The cost of a schedule.
struct OrderCost {
  unsigned length = 0; ///< estimated cycles of one warp
  RegionCounts peak{}; ///< live registers by file
};
/// Predicates above this number are spilled to file R, or recomputed: half of them count as registers of R.
OrderCost costOf(const ScheduleRegion& region, std::span<const std::uint32_t> order, unsigned predicates = ~0u);
/// A lower bound of OrderCost::length over all schedules: the longest chain, and the work of the busiest pipe.
unsigned leastLength(const ScheduleRegion& region);
/// Cycles for which the busiest pipe, or the issue of one warp, is busy; the same for all schedules.
unsigned busyCycles(const ScheduleRegion& region);

/// Instructions in program order.
Order sourceOrder(const ScheduleRegion& region);
/// Loads as early as possible: the ready instruction with the longest path to the end, until a file is near its limit;
/// then the instruction that ends most values.
Order latencyFirst(const ScheduleRegion& region, const RegionCounts& limits);
/// The choice of pressureAware when registers are short and no instruction ends a value.
enum class WhenShort : std::uint8_t {
  FewestRegisters, ///< the instruction that begins the fewest values
  SourceOrder,     ///< the last one in source order, which may end live ranges
  NewestReady      ///< first instructions after barriers, then the node that became ready last: one tree at a time
};
/// Schedules from the last instruction to the first: the instruction with the longest path from the start, until a file
/// is near its limit; then one that ends values. After Goodman and Hsu (1988).
Order pressureAware(const ScheduleRegion& region, const RegionCounts& limits,
                    WhenShort whenShort = WhenShort::FewestRegisters);

/// Schedules one tree of operands at a time. Of the operands of an instruction, the one whose tree needs most registers
/// comes first: low register pressure where many values are used once, as in reductions. After Sethi and Ullman (1970).
Order depthFirst(const ScheduleRegion& region);

/// The base order with its stalls filled by later instructions, within the limits: an instruction is moved forward only
/// if all that remains, in the base order, stays within them (or does not get worse).
Order fillStalls(const ScheduleRegion& region, std::span<const std::uint32_t> base, const RegionCounts& limits);

} // namespace orias::phases

#pragma once

// List scheduling of the regions of a function: common part of phases 97 and 110.

#include "ori/analysis/loops.h"
#include "phases/dependence.h"

#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace orias::phases {

/// Regions are cut at this many instructions. Values that are live across a cut count in both parts, in any order.
inline constexpr std::size_t kMaxRegion = 16384;

/// A scheduling region: the instructions of a block between pinned instructions.
struct BlockRegion {
  ori::Block* block = nullptr;
  std::vector<ori::Instr*> instrs;
  ori::Instr* next = nullptr; ///< the first instruction after it; null at the end of the block
};

/// Pseudo instructions that issue nothing and remain before the same instruction when that moves. They are removed from
/// the block during the lifetime of this object.
class ScheduleMarks {
 public:
  ScheduleMarks(ori::Function& function, ori::Block& block);
  ~ScheduleMarks();
  ScheduleMarks(ScheduleMarks&&) = default;
  ScheduleMarks(const ScheduleMarks&) = delete;
  ScheduleMarks& operator=(const ScheduleMarks&) = delete;

 private:
  ori::Function& function_;
  std::vector<std::pair<ori::Instr*, ori::Instr*>> marks_; // in reverse order: one may be before another
};

/// The regions of a block with at least two instructions, in order.
std::vector<BlockRegion> regionsOf(ori::Block& block);
/// Reorders the instructions of a region by these indices; true if anything moves. Of adjacent regions the first must
/// be reordered first.
bool reorder(ori::Function& function, const BlockRegion& region, std::span<const std::uint32_t> order);

/// Given a region and its graph, returns an order of its nodes that respects the graph; an empty one leaves the region
/// unchanged.
using OrderRegion = std::function<std::vector<std::uint32_t>(std::span<ori::Instr* const>, const DependenceGraph&)>;

/// Reorders every region of a block. True if anything moved.
bool scheduleBlock(ori::Function& function, ori::Block& block, const isa::Target& target, const OrderRegion& order);

/// For each node the cycles from its issue to the end of the longest chain that it starts.
std::vector<unsigned> pathLengths(std::span<ori::Instr* const> region, const DependenceGraph& graph,
                                  const isa::Target& target);

/// Registers with results in flight at the start of a block, by file and index, with the cycles until they arrive.
using Arrivals = std::map<std::pair<isa::File, std::uint32_t>, unsigned>;
/// The arrivals from the predecessors of the block in the same loop; none outside loops. For physical registers.
Arrivals arrivalsAt(const ori::Function& function, const ori::Loops& loops, std::span<const ori::BlockId> predecessors,
                    ori::BlockId block, const isa::Target& target);

/// The schedule that issues, in each cycle, the ready instruction with the longest path; the earlier one if two are
/// equal. An access to a register of `arrivals` waits for it.
std::vector<std::uint32_t> orderByLatency(std::span<ori::Instr* const> region, const DependenceGraph& graph,
                                          const isa::Target& target, const Arrivals& arrivals = {});

} // namespace orias::phases

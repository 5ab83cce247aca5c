#pragma once

// List scheduling of the straight pieces of a function: common part of phases 97 and 110.

#include "ori/function.h"
#include "phases/dependence.h"

#include <functional>

namespace orias::phases {

/// A piece of a block between pinned instructions, of at most kMaxRegion instructions.
inline constexpr std::size_t kMaxRegion = 2048;

/// Given a region and its graph, an order of its nodes that respects the graph; an empty one leaves the region alone.
using OrderRegion = std::function<std::vector<std::uint32_t>(std::span<ori::Instr* const>, const DependenceGraph&)>;

/// Reorders every region of a block. True when anything moved.
bool scheduleBlock(ori::Function& function, ori::Block& block, const isa::Target& target, const OrderRegion& order);

/// For each node the cycles from its issue to the end of the longest chain that it starts.
std::vector<unsigned> pathLengths(std::span<ori::Instr* const> region, const DependenceGraph& graph,
                                  const isa::Target& target);

/// The order that issues, in each cycle, the ready instruction with the longest path; the earlier one when two are
/// alike.
std::vector<std::uint32_t> orderByLatency(std::span<ori::Instr* const> region, const DependenceGraph& graph,
                                          const isa::Target& target);

} // namespace orias::phases

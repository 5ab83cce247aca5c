#pragma once

// The control flow of a function of a cubin, recovered from its words.

#include "encoder/control_flow.h"
#include "encoder/listing.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace orias::dis {

/// Threads that part inside come together again at its end: from a BSSY to the BSYNC of the same barrier.
struct Region {
  std::uint32_t begin = 0;   ///< the BSSY, an index of words
  std::uint32_t barrier = 0; ///< number of the B register
  std::uint32_t join = 0;    ///< where the BSSY says that threads meet
};

struct GraphNode {
  std::uint32_t first = 0, end = 0;   ///< indices of words
  bool isEntry = false;               ///< of the kernel, or of a function in it
  bool isReached = false;             ///< from an entry, over the edges that are known
  std::vector<std::uint32_t> regions; ///< open where the block begins; indices into ControlGraph::regions
};

struct GraphEdge {
  std::uint32_t from = 0, to = 0; ///< nodes
  encoder::FlowEdge::Kind kind = encoder::FlowEdge::Kind::FallThrough;
  bool closesLoop = false; ///< its target dominates its source
};

struct ControlGraph {
  std::string name;
  std::vector<GraphNode> nodes; ///< in the order of the words; padding left out
  std::vector<GraphEdge> edges; ///< by `from`
  std::vector<Region> regions;
};

/// `listing` is that of the same words; it says where the padding begins.
ControlGraph recoverGraph(const encoder::FunctionListing& listing, std::span<const isa::Word> words,
                          const encoder::IndirectTargets& indirect, const isa::Target& target);

/// For people: each block with its edges and regions.
std::string renderText(const ControlGraph& graph, const encoder::FunctionListing& listing);
/// For Graphviz: a node for each block with its instructions; dashed edges lead from a BSSY to where its threads meet.
std::string renderDot(const ControlGraph& graph, const encoder::FunctionListing& listing);

} // namespace orias::dis

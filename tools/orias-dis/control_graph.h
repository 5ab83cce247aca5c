#pragma once

// The control flow of a function of a cubin, recovered from its words.

#include "encoder/control_flow.h"
#include "encoder/listing.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace orias::dis {

/// Threads that diverge inside the region reconverge at its end: from a BSSY to the BSYNC of the same barrier.
struct Region {
  std::uint32_t begin = 0;   ///< the BSSY, an index of words
  std::uint32_t barrier = 0; ///< number of the B register
  std::uint32_t join = 0;    ///< the reconvergence point in the BSSY
};

struct GraphNode {
  std::uint32_t first = 0, end = 0;   ///< indices of words
  bool isEntry = false;               ///< of the kernel, or of a function in it
  bool isReached = false;             ///< from an entry, over known edges
  std::vector<std::uint32_t> regions; ///< open at the start of the block; indices into ControlGraph::regions
};

struct GraphEdge {
  std::uint32_t from = 0, to = 0; ///< nodes
  encoder::FlowEdge::Kind kind = encoder::FlowEdge::Kind::FallThrough;
  bool closesLoop = false; ///< a backedge: its target dominates its source
};

struct ControlGraph {
  std::string name;
  std::vector<GraphNode> nodes; ///< in the order of the words; without padding
  std::vector<GraphEdge> edges; ///< by `from`
  std::vector<Region> regions;
};

/// `listing` is that of the same words; it gives the start of the padding.
ControlGraph recoverGraph(const encoder::FunctionListing& listing, std::span<const isa::Word> words,
                          const encoder::IndirectTargets& indirect, const isa::Target& target);

/// For users: each block with its edges and regions.
std::string renderText(const ControlGraph& graph, const encoder::FunctionListing& listing);
/// For Graphviz: a node for each block with its instructions; dashed edges lead from a BSSY to its reconvergence point.
std::string renderDot(const ControlGraph& graph, const encoder::FunctionListing& listing);

} // namespace orias::dis

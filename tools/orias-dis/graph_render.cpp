#include "encoder/code.h"
#include "tools/orias-dis/control_graph.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <fmt/format.h>
#include <sstream>

namespace orias::dis {

namespace {

using Kind = encoder::FlowEdge::Kind;

std::string place(std::uint32_t word) {
  return fmt::format("{:#06x}", word * encoder::kWordBytes);
}

std::string_view kindName(Kind kind) {
  switch (kind) {
  case Kind::FallThrough: return "falls through";
  case Kind::Taken: return "taken";
  case Kind::Indirect: return "indirect";
  case Kind::AfterCall: return "after the call";
  }
  return {};
}

std::string regionName(const Region& region) {
  return fmt::format("B{} from {} to {}", region.barrier, place(region.begin), place(region.join));
}

/// Text in the quotes of a record label: `\l` ends a left-aligned line.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// Edges of the drawing: those of the code, and one for each region.
struct DrawnEdge {
  std::string attributes;
};

std::string attributesOf(const GraphEdge& edge) {
  std::string out = fmt::format("label=\"{}\"", edge.kind == Kind::FallThrough ? "" : kindName(edge.kind));
  if (edge.kind == Kind::Indirect) out += ", style=dotted";
  if (edge.closesLoop) out += ", color=blue, constraint=false";
  return out;
}

} // namespace

std::string renderText(const ControlGraph& graph, const encoder::FunctionListing& listing) {
  std::string out = fmt::format("{}: {} blocks, {} edges, {} convergence regions\n", graph.name, graph.nodes.size(),
                                graph.edges.size(), graph.regions.size());
  auto edge = graph.edges.begin();
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    const encoder::ListingRow& last = listing.rows[node.end - 1];
    out += fmt::format("block {}: {} to {}, {} instructions{}{}\n", n, place(node.first), place(node.end - 1),
                       node.end - node.first, node.isEntry ? ", entry" : "", node.isReached ? "" : ", not reached");
    for (std::uint32_t region : node.regions)
      out += fmt::format("    inside {}\n", regionName(graph.regions[region]));
    for (const Region& region : graph.regions)
      if (region.begin >= node.first && region.begin < node.end)
        out += fmt::format("    opens {}\n", regionName(region));
    out += fmt::format("    last: {}\n", last.text);
    for (; edge != graph.edges.end() && edge->from == n; ++edge)
      out += fmt::format("    -> block {} ({}{})\n", edge->to, kindName(edge->kind),
                         edge->closesLoop ? ", back edge" : "");
  }
  return out;
}

std::string renderDot(const ControlGraph& graph, const encoder::FunctionListing& listing) {
  using Drawing = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, DrawnEdge>;
  Drawing drawing(graph.nodes.size());
  for (const GraphEdge& edge : graph.edges)
    add_edge(edge.from, edge.to, DrawnEdge{attributesOf(edge)}, drawing);
  const auto nodeAt = [&](std::uint32_t word) {
    return std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const GraphNode& n) { return word < n.end; }) -
           graph.nodes.begin();
  };
  for (const Region& region : graph.regions)
    add_edge(nodeAt(region.begin), nodeAt(region.join),
             DrawnEdge{fmt::format("label=\"B{}\", style=dashed, color=gray, constraint=false", region.barrier)},
             drawing);

  const auto writeNode = [&](std::ostream& to, std::size_t n) {
    const GraphNode& node = graph.nodes[n];
    std::string label;
    for (std::uint32_t region : node.regions)
      label += escaped("inside " + regionName(graph.regions[region])) + "\\l";
    for (std::uint32_t i = node.first; i < node.end; ++i)
      label += fmt::format("{} {}\\l", place(i), escaped(listing.rows[i].text));
    to << fmt::format("[shape=box, fontname=monospace{}, label=\"{}\"]", node.isReached ? "" : ", style=dotted", label);
  };
  const auto writeEdge = [&](std::ostream& to, const Drawing::edge_descriptor& e) {
    to << '[' << drawing[e].attributes << ']';
  };
  const auto writeGraph = [&](std::ostream& to) { to << "label=\"" << escaped(graph.name) << "\";\n"; };
  std::ostringstream out;
  boost::write_graphviz(out, drawing, writeNode, writeEdge, writeGraph);
  return out.str();
}

} // namespace orias::dis

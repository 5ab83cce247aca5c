#include "tools/orias-dis/control_graph.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/dominator_tree.hpp>
#include <map>
#include <set>

namespace orias::dis {

namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

class Recovery {
 public:
  Recovery(const encoder::FunctionListing& listing, std::span<const isa::Word> words,
           const encoder::IndirectTargets& indirect, const isa::Target& target)
      : target_(target), words_(words), flows_(encoder::flowsOf(words, target)) {
    graph_.name = listing.header.name;
    const auto padding =
        std::find_if(listing.rows.begin(), listing.rows.end(), [](const auto& r) { return r.padding; });
    const auto end = static_cast<std::uint32_t>(padding - listing.rows.begin());
    for (const encoder::FlowBlock& block : encoder::flowBlocks(flows_, indirect)) {
      if (block.first >= end) break;
      const auto from = static_cast<std::uint32_t>(graph_.nodes.size());
      graph_.nodes.push_back({block.first, std::min(block.end, end), false, false, {}});
      for (const encoder::FlowEdge& edge : block.successors)
        graph_.edges.push_back({from, edge.to, edge.kind, false});
    }
    // Code may appear to fall through into the padding.
    std::erase_if(graph_.edges, [&](const GraphEdge& edge) { return edge.to >= graph_.nodes.size(); });
  }

  ControlGraph run() {
    if (graph_.nodes.empty()) return std::move(graph_);
    markEntries();
    findLoops();
    findRegions();
    return std::move(graph_);
  }

 private:
  std::uint32_t nodeAt(std::uint32_t word) const {
    const auto after = std::upper_bound(graph_.nodes.begin(), graph_.nodes.end(), word,
                                        [](std::uint32_t w, const GraphNode& node) { return w < node.first; });
    return static_cast<std::uint32_t>(after - graph_.nodes.begin()) - 1;
  }

  void markEntries() {
    graph_.nodes.front().isEntry = true;
    for (const encoder::Flow& flow : flows_)
      if (flow.callee && *flow.callee < graph_.nodes.back().end) graph_.nodes[nodeAt(*flow.callee)].isEntry = true;
  }

  /// A node before all entries connects the functions in the code to one graph.
  void findLoops() {
    const std::size_t count = graph_.nodes.size();
    Graph flow(count + 1);
    for (const GraphEdge& edge : graph_.edges)
      add_edge(edge.from, edge.to, flow);
    for (std::size_t i = 0; i < count; ++i)
      if (graph_.nodes[i].isEntry) add_edge(count, i, flow);

    std::vector<Graph::vertex_descriptor> dominator(count + 1, Graph::null_vertex());
    boost::lengauer_tarjan_dominator_tree(
        flow, count, boost::make_iterator_property_map(dominator.begin(), get(boost::vertex_index, flow)));
    for (std::size_t i = 0; i < count; ++i)
      graph_.nodes[i].isReached = dominator[i] != Graph::null_vertex();
    const auto dominates = [&](std::size_t above, std::size_t node) {
      while (node != Graph::null_vertex() && node != above)
        node = dominator[node];
      return node == above;
    };
    for (GraphEdge& edge : graph_.edges)
      edge.closesLoop = graph_.nodes[edge.from].isReached && dominates(edge.to, edge.from);
  }

  struct ConvergenceStep {
    bool opens = false;
    std::uint32_t barrier = 0;
    std::uint32_t region = 0; ///< that it opens
  };

  /// The convergence steps of BSSY and BSYNC, by word.
  std::map<std::uint32_t, ConvergenceStep> convergenceSteps() {
    std::map<std::uint32_t, ConvergenceStep> steps;
    const std::uint32_t end = graph_.nodes.back().end;
    for (std::uint32_t i = 0; i < end; ++i) {
      const auto inst = isa::decodeFor(target_, words_[i]);
      if (!inst || (inst->op != isa::Op::BSSY && inst->op != isa::Op::BSYNC)) continue;
      ConvergenceStep step;
      for (unsigned o = 0; o < inst->operandCount; ++o) {
        const isa::Operand& operand = inst->operands[o];
        if (operand.isReg(isa::File::B)) step.barrier = operand.reg;
        if (operand.kind != isa::Operand::Kind::Label) continue;
        const std::int64_t join = static_cast<std::int64_t>(i) + 1 + operand.imm / 16;
        if (join < 0 || join >= static_cast<std::int64_t>(end)) continue;
        step.opens = true;
        step.region = static_cast<std::uint32_t>(graph_.regions.size());
        graph_.regions.push_back({i, operand.reg, static_cast<std::uint32_t>(join)});
      }
      if (step.opens) graph_.regions.back().barrier = step.barrier;
      steps[i] = step;
    }
    return steps;
  }

  /// Follows the open regions along the edges.
  void findRegions() {
    const std::map<std::uint32_t, ConvergenceStep> steps = convergenceSteps();
    if (graph_.regions.empty()) return;
    std::vector<std::vector<std::uint32_t>> successors(graph_.nodes.size());
    for (const GraphEdge& edge : graph_.edges)
      successors[edge.from].push_back(edge.to);
    std::vector<std::set<std::uint32_t>> open(graph_.nodes.size());
    std::vector<std::uint32_t> work;
    for (std::uint32_t n = static_cast<std::uint32_t>(graph_.nodes.size()); n-- > 0;)
      work.push_back(n);
    while (!work.empty()) {
      const std::uint32_t node = work.back();
      work.pop_back();
      std::set<std::uint32_t> now = open[node];
      for (auto step = steps.lower_bound(graph_.nodes[node].first);
           step != steps.end() && step->first < graph_.nodes[node].end; ++step) {
        std::erase_if(now, [&](std::uint32_t r) { return graph_.regions[r].barrier == step->second.barrier; });
        if (step->second.opens) now.insert(step->second.region);
      }
      for (std::uint32_t next : successors[node]) {
        const std::size_t before = open[next].size();
        open[next].insert(now.begin(), now.end());
        if (open[next].size() != before) work.push_back(next);
      }
    }
    for (std::size_t n = 0; n < open.size(); ++n)
      graph_.nodes[n].regions.assign(open[n].begin(), open[n].end());
  }

  const isa::Target& target_;
  std::span<const isa::Word> words_;
  std::vector<encoder::Flow> flows_;
  ControlGraph graph_;
};

} // namespace

ControlGraph recoverGraph(const encoder::FunctionListing& listing, std::span<const isa::Word> words,
                          const encoder::IndirectTargets& indirect, const isa::Target& target) {
  return Recovery(listing, words, indirect, target).run();
}

} // namespace orias::dis

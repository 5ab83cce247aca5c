#pragma once

// The dependences of a loop body over several iterations, and the lower bounds that they and the pipes set for the
// initiation interval. Independent of instructions.

#include <cstdint>
#include <vector>

namespace orias::phases::modulo {

/// An instruction of the loop body: the pipe that it uses (0 for none), and for how many cycles. Each instruction also
/// takes one issue slot.
struct Node {
  unsigned pipe = 0;
  unsigned cycles = 0;
};

/// `to` issues at least `latency` cycles after `from`, which is `distance` iterations earlier.
struct Edge {
  std::uint32_t from = 0, to = 0;
  int latency = 0;
  int distance = 0;
};

class LoopGraph {
 public:
  static constexpr unsigned kPipes = 16;

  std::uint32_t add(Node node) {
    nodes_.push_back(node);
    out_.emplace_back();
    in_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void connect(Edge edge) {
    out_[edge.from].push_back(static_cast<std::uint32_t>(edges_.size()));
    in_[edge.to].push_back(static_cast<std::uint32_t>(edges_.size()));
    edges_.push_back(edge);
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  const Node& node(std::uint32_t n) const { return nodes_[n]; }
  const std::vector<Edge>& edges() const { return edges_; }
  const Edge& edge(std::uint32_t e) const { return edges_[e]; }
  const std::vector<std::uint32_t>& out(std::uint32_t n) const { return out_[n]; } ///< indices of edges
  const std::vector<std::uint32_t>& in(std::uint32_t n) const { return in_[n]; }

 private:
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> out_, in_;
};

/// ResMII: cycles for which the busiest pipe, or the issue stage, is occupied in one iteration.
unsigned resMii(const LoopGraph& graph);
/// The recurrences (strongly connected components), each with its RecMII, the largest first. They exclude nodes without
/// a recurrence.
struct Recurrence {
  std::vector<std::uint32_t> nodes;
  unsigned mii = 0;
};
std::vector<Recurrence> findRecurrences(const LoopGraph& graph);
/// RecMII: the least II that all recurrences allow; 0 without recurrences.
unsigned recMii(const std::vector<Recurrence>& recurrences);

/// Earliest and latest times of nodes for an initiation interval `ii`, without regard to pipes. `ii` is at least the
/// RecMII.
struct Times {
  std::vector<int> asap, alap;
  std::vector<int> depth, height; ///< longest paths from the start and to the end, within one iteration
  int length = 0;                 ///< the latest asap
};
Times timesOf(const LoopGraph& graph, unsigned ii);

} // namespace orias::phases::modulo

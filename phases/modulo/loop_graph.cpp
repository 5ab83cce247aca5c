#include "phases/modulo/loop_graph.h"

#include <algorithm>
#include <array>
#include <utility>

namespace orias::phases::modulo {

namespace {

/// Whether iterations `ii` cycles apart satisfy all recurrences of `edges` among `nodes` nodes: no cycle is longer than
/// the iterations that it spans.
bool isFeasible(const std::vector<Edge>& edges, std::size_t nodes, unsigned ii) {
  std::vector<int> start(nodes, 0);
  for (std::size_t round = 0; round <= nodes; ++round) {
    bool changed = false;
    for (const Edge& e : edges) {
      const int time = start[e.from] + e.latency - e.distance * static_cast<int>(ii);
      if (time <= start[e.to]) continue;
      start[e.to] = time;
      changed = true;
    }
    if (!changed) return true;
  }
  return false;
}

/// Returns the RecMII of a component; `number` is scratch, by node.
unsigned miiOf(const LoopGraph& graph, const std::vector<std::uint32_t>& nodes, std::vector<std::uint32_t>& number) {
  constexpr std::uint32_t kOutside = ~0u;
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    number[nodes[i]] = i;
  std::vector<Edge> edges;
  unsigned high = 1; // a cycle spans at least one iteration, and is no longer than the longest paths from all its nodes
  for (std::uint32_t n : nodes) {
    int longest = 0;
    for (std::uint32_t e : graph.out(n)) {
      Edge edge = graph.edge(e);
      if (number[edge.to] == kOutside) continue;
      longest = std::max(longest, edge.latency);
      edge.from = number[edge.from];
      edge.to = number[edge.to];
      edges.push_back(edge);
    }
    high += static_cast<unsigned>(longest);
  }
  for (std::uint32_t n : nodes)
    number[n] = kOutside;
  unsigned low = 0;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (isFeasible(edges, nodes.size(), middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// Tarjan's strongly connected components, without recursion.
class Components {
 public:
  explicit Components(const LoopGraph& graph)
      : graph_(graph), index_(graph.size(), 0), low_(graph.size(), 0), isOnStack_(graph.size(), false) {
    for (std::uint32_t n = 0; n < graph.size(); ++n)
      if (index_[n] == 0) visit(n);
  }
  std::vector<std::vector<std::uint32_t>> found;

 private:
  void enter(std::uint32_t n) {
    index_[n] = low_[n] = ++count_;
    stack_.push_back(n);
    isOnStack_[n] = true;
    calls_.emplace_back(n, 0);
  }

  void visit(std::uint32_t root) {
    enter(root);
    while (!calls_.empty()) {
      const std::uint32_t n = calls_.back().first;
      if (calls_.back().second < graph_.out(n).size()) {
        const std::uint32_t to = graph_.edge(graph_.out(n)[calls_.back().second++]).to;
        if (index_[to] == 0)
          enter(to);
        else if (isOnStack_[to])
          low_[n] = std::min(low_[n], index_[to]);
        continue;
      }
      calls_.pop_back();
      if (!calls_.empty()) low_[calls_.back().first] = std::min(low_[calls_.back().first], low_[n]);
      if (low_[n] == index_[n]) leave(n);
    }
  }

  void leave(std::uint32_t root) {
    std::vector<std::uint32_t>& nodes = found.emplace_back();
    for (bool isLast = false; !isLast;) {
      const std::uint32_t n = stack_.back();
      stack_.pop_back();
      isOnStack_[n] = false;
      nodes.push_back(n);
      isLast = n == root;
    }
    std::ranges::sort(nodes);
  }

  const LoopGraph& graph_;
  std::vector<std::uint32_t> index_, low_, stack_;
  std::vector<bool> isOnStack_;
  std::vector<std::pair<std::uint32_t, std::size_t>> calls_;
  std::uint32_t count_ = 0;
};

} // namespace

unsigned resMii(const LoopGraph& graph) {
  std::array<unsigned, LoopGraph::kPipes> busy{};
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (graph.node(n).pipe != 0) busy[graph.node(n).pipe] += graph.node(n).cycles;
  return std::max(*std::ranges::max_element(busy), graph.size());
}

unsigned recMii(const std::vector<Recurrence>& recurrences) {
  return recurrences.empty() ? 0 : recurrences.front().mii;
}

std::vector<Recurrence> findRecurrences(const LoopGraph& graph) {
  std::vector<Recurrence> recurrences;
  std::vector<std::uint32_t> number(graph.size(), ~0u);
  for (std::vector<std::uint32_t>& nodes : Components(graph).found) {
    const bool isCycle = nodes.size() > 1 || std::ranges::any_of(graph.out(nodes[0]), [&](std::uint32_t e) {
                           return graph.edge(e).to == nodes[0];
                         });
    if (!isCycle) continue;
    const unsigned mii = miiOf(graph, nodes, number);
    recurrences.push_back({std::move(nodes), mii});
  }
  std::ranges::sort(recurrences, [](const Recurrence& a, const Recurrence& b) {
    return std::pair(b.mii, a.nodes[0]) < std::pair(a.mii, b.nodes[0]);
  });
  return recurrences;
}

Times timesOf(const LoopGraph& graph, unsigned ii) {
  Times times;
  times.asap.assign(graph.size(), 0);
  times.depth.assign(graph.size(), 0);
  times.height.assign(graph.size(), 0);
  const auto relax = [&](auto&& update) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Edge& e : graph.edges())
        changed |= update(e, e.latency - e.distance * static_cast<int>(ii));
    }
  };
  const auto raise = [](int& value, int to) {
    if (value >= to) return false;
    value = to;
    return true;
  };
  relax([&](const Edge& e, int way) { return raise(times.asap[e.to], times.asap[e.from] + way); });
  for (int time : times.asap)
    times.length = std::max(times.length, time);
  times.alap.assign(graph.size(), times.length);
  relax([&](const Edge& e, int way) {
    if (times.alap[e.from] <= times.alap[e.to] - way) return false;
    times.alap[e.from] = times.alap[e.to] - way;
    return true;
  });
  relax([&](const Edge& e, int way) { return e.distance == 0 && raise(times.depth[e.to], times.depth[e.from] + way); });
  relax(
      [&](const Edge& e, int way) { return e.distance == 0 && raise(times.height[e.from], times.height[e.to] + way); });
  return times;
}

} // namespace orias::phases::modulo

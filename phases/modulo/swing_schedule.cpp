#include "phases/modulo/swing_schedule.h"

#include <algorithm>
#include <array>
#include <climits>
#include <fmt/format.h>
#include <numeric>
#include <span>

namespace orias::phases::modulo {

namespace {

/// The most cycles that a node is delayed beyond its earliest time because no slot is free.
constexpr int kMaxOffset = 128;

using Set = std::vector<bool>;

/// The nodes that `from` reaches along edges in one direction, itself included.
Set reach(const LoopGraph& graph, const Set& from, bool isForward) {
  Set found = from;
  std::vector<std::uint32_t> work;
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (from[n]) work.push_back(n);
  while (!work.empty()) {
    const std::uint32_t n = work.back();
    work.pop_back();
    for (std::uint32_t e : isForward ? graph.out(n) : graph.in(n)) {
      const std::uint32_t next = isForward ? graph.edge(e).to : graph.edge(e).from;
      if (graph.edge(e).distance != 0 || found[next]) continue;
      found[next] = true;
      work.push_back(next);
    }
  }
  return found;
}

/// The ordering phase.
class Orderer {
 public:
  Orderer(const LoopGraph& graph, const std::vector<Recurrence>& recurrences, const Times& times)
      : graph_(graph), recurrences_(recurrences), times_(times), isOrdered_(graph.size(), false) {}

  std::vector<std::uint32_t> run(std::optional<std::uint32_t> last) {
    if (last) {
      // The next iteration waits for the branch's operands, a recurrence that must not be delayed. It comes first.
      Set set(graph_.size(), false);
      set[*last] = true;
      set = reach(graph_, set, false);
      for (std::uint32_t n = 0; n < graph_.size(); ++n)
        if (set[n]) order_.push_back(n);
      std::ranges::stable_sort(order_, {}, [&](std::uint32_t n) { return times_.asap[n]; });
      isOrdered_ = set;
    }
    for (const Recurrence& recurrence : recurrences_) {
      if (std::ranges::all_of(recurrence.nodes, [&](std::uint32_t n) { return isOrdered_[n]; })) continue;
      Set set(graph_.size(), false);
      for (std::uint32_t n : recurrence.nodes)
        set[n] = true;
      if (!order_.empty()) addBetween(set);
      place(set);
    }
    place(Set(graph_.size(), true));
    return std::move(order_);
  }

 private:
  /// Adds the nodes on paths between the set and the ordered nodes, in either direction.
  void addBetween(Set& set) const {
    const Set down = reach(graph_, set, true), up = reach(graph_, set, false);
    const Set belowOrdered = reach(graph_, isOrdered_, true), aboveOrdered = reach(graph_, isOrdered_, false);
    for (std::uint32_t n = 0; n < graph_.size(); ++n)
      if ((down[n] && aboveOrdered[n]) || (up[n] && belowOrdered[n])) set[n] = true;
  }

  /// The predecessors, or successors, of ordered nodes that belong to the set and are not ordered.
  Set neighbors(const Set& set, bool areSuccessors) const {
    Set found(graph_.size(), false);
    for (const Edge& e : graph_.edges()) {
      if (e.distance != 0) continue;
      const std::uint32_t inside = areSuccessors ? e.from : e.to, outside = areSuccessors ? e.to : e.from;
      if (isOrdered_[inside] && !isOrdered_[outside] && set[outside]) found[outside] = true;
    }
    return found;
  }

  static bool isEmpty(const Set& set) { return std::ranges::find(set, true) == set.end(); }

  void place(const Set& set) {
    while (true) {
      Set ready = neighbors(set, false);
      bool goesUp = true;
      if (isEmpty(ready)) {
        ready = neighbors(set, true);
        goesUp = false;
      }
      if (isEmpty(ready)) {
        // The latest of the remaining nodes.
        std::uint32_t first = graph_.size();
        for (std::uint32_t n = 0; n < graph_.size(); ++n)
          if (set[n] && !isOrdered_[n] && (first == graph_.size() || times_.asap[n] > times_.asap[first])) first = n;
        if (first == graph_.size()) return;
        ready[first] = true;
        goesUp = true;
      }
      for (; !isEmpty(ready); goesUp = !goesUp) {
        sweep(ready, set, goesUp);
        ready = neighbors(set, goesUp);
      }
    }
  }

  /// Orders the ready nodes, and those that become ready through them, in one direction: the deepest first when going
  /// up, the highest when going down; then those with the least mobility.
  void sweep(Set ready, const Set& set, bool goesUp) {
    while (true) {
      std::uint32_t best = graph_.size();
      const auto rank = [&](std::uint32_t n) {
        return std::pair(-(goesUp ? times_.depth[n] : times_.height[n]), times_.alap[n] - times_.asap[n]);
      };
      for (std::uint32_t n = 0; n < graph_.size(); ++n)
        if (ready[n] && (best == graph_.size() || rank(n) < rank(best))) best = n;
      if (best == graph_.size()) return;
      ready[best] = false;
      isOrdered_[best] = true;
      order_.push_back(best);
      for (std::uint32_t e : goesUp ? graph_.in(best) : graph_.out(best)) {
        const std::uint32_t next = goesUp ? graph_.edge(e).from : graph_.edge(e).to;
        if (graph_.edge(e).distance == 0 && set[next] && !isOrdered_[next]) ready[next] = true;
      }
    }
  }

  const LoopGraph& graph_;
  const std::vector<Recurrence>& recurrences_;
  const Times& times_;
  Set isOrdered_;
  std::vector<std::uint32_t> order_;
};

/// The issue slots and pipes in use, modulo II.
class Reservations {
 public:
  explicit Reservations(unsigned ii) : ii_(ii), isIssuing_(ii, false) { pipes_.fill(std::vector<bool>(ii, false)); }

  bool isFree(const Node& node, int time) const {
    if (isIssuing_[slot(time)]) return false;
    for (unsigned c = 0; node.pipe != 0 && c < node.cycles; ++c)
      if (pipes_[node.pipe][slot(time + static_cast<int>(c))]) return false;
    return node.pipe == 0 || node.cycles <= ii_;
  }
  void take(const Node& node, int time) {
    isIssuing_[slot(time)] = true;
    for (unsigned c = 0; node.pipe != 0 && c < node.cycles; ++c)
      pipes_[node.pipe][slot(time + static_cast<int>(c))] = true;
  }

 private:
  unsigned slot(int time) const {
    const int step = static_cast<int>(ii_), rest = time % step;
    return static_cast<unsigned>(rest < 0 ? rest + step : rest);
  }

  unsigned ii_;
  std::vector<bool> isIssuing_;
  std::array<std::vector<bool>, LoopGraph::kPipes> pipes_;
};

} // namespace

unsigned Schedule::stages() const {
  unsigned last = 0;
  for (unsigned t : time)
    last = std::max(last, t);
  return last / ii + 1;
}

std::vector<std::uint32_t> Schedule::slotOrder() const {
  std::vector<std::uint32_t> order(time.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [this](std::uint32_t n) { return slot(n); });
  return order;
}

std::vector<std::uint32_t> nodeOrder(const LoopGraph& graph, const std::vector<Recurrence>& recurrences,
                                     const Times& times, std::optional<std::uint32_t> last) {
  return Orderer(graph, recurrences, times).run(last);
}

namespace {

/// Places the nodes, the first ones `offset` cycles after their earliest times. Times may become negative.
std::optional<std::vector<int>> placeAll(const LoopGraph& graph, const Times& times,
                                         std::span<const std::uint32_t> order, unsigned ii,
                                         std::optional<std::uint32_t> last, int offset) {
  const int step = static_cast<int>(ii);
  constexpr int kNowhere = INT_MIN;
  std::vector<int> at(graph.size(), kNowhere);
  Reservations reservations(ii);
  const auto put = [&](std::uint32_t n, int time) {
    at[n] = time;
    reservations.take(graph.node(n), time);
    return true;
  };
  bool isInFront = last && std::ranges::find(order, *last) != order.end(); // before the branch
  if (last) put(*last, step - 1);
  for (std::uint32_t n : order) {
    if (n == last) isInFront = false;
    if (at[n] != kNowhere) continue;
    int earliest = kNowhere, latest = INT_MAX;
    for (std::uint32_t e : graph.in(n)) {
      const Edge& edge = graph.edge(e);
      if (at[edge.from] != kNowhere) earliest = std::max(earliest, at[edge.from] + edge.latency - edge.distance * step);
    }
    for (std::uint32_t e : graph.out(n)) {
      const Edge& edge = graph.edge(e);
      if (at[edge.to] != kNowhere) latest = std::min(latest, at[edge.to] - edge.latency + edge.distance * step);
    }
    const auto attempt = [&](int time) { return reservations.isFree(graph.node(n), time) && put(n, time); };
    bool isPlaced = false;
    if (earliest == kNowhere && latest != INT_MAX && !isInFront) {
      for (int t = latest; t > latest - step && !isPlaced; --t)
        isPlaced = attempt(t);
    } else {
      // Results of earlier iterations may be ready long before this one begins.
      const int from =
          earliest == kNowhere ? times.asap[n] + (isInFront ? 0 : offset) : std::max(earliest, times.asap[n]);
      const int to = latest == INT_MAX ? from + step - 1 : std::min(latest, from + step - 1);
      for (int t = from; t <= to && !isPlaced; ++t)
        isPlaced = attempt(t);
    }
    if (!isPlaced) return std::nullopt;
  }
  return at;
}

} // namespace

std::optional<Schedule> scheduleAt(const LoopGraph& graph, std::span<const std::uint32_t> order, unsigned ii,
                                   std::optional<std::uint32_t> last) {
  const Times times = timesOf(graph, ii);
  // The branch's operands are placed at the start of the iteration. Where that leaves no slot for others, all of them
  // begin later.
  for (int offset = 0; offset < std::min(2 * static_cast<int>(ii), kMaxOffset); offset = 2 * offset + 1) {
    const std::optional<std::vector<int>> at = placeAll(graph, times, order, ii, last, offset);
    const int first = at ? *std::ranges::min_element(*at) : 0;
    if (!at || (first < 0 && last)) continue;
    Schedule schedule;
    schedule.ii = ii;
    for (int t : *at)
      schedule.time.push_back(static_cast<unsigned>(t - (last ? 0 : first)));
    return schedule;
  }
  return std::nullopt;
}

Result findSchedule(const LoopGraph& graph, const std::vector<Recurrence>& recurrences,
                    std::optional<std::uint32_t> last, const Limits& limits) {
  Result result;
  result.resMii = resMii(graph);
  result.recMii = recMii(recurrences);
  const unsigned mii = std::max(result.resMii, limits.ignoresRecMii ? 0 : result.recMii);
  if (mii == 0) {
    result.message = "Invalid Minimal Initiation Interval: 0";
    return result;
  }
  if (mii > limits.maxMii) {
    result.message =
        fmt::format("Minimal Initiation Interval too large: {} > {}. Refer to -pipeliner-max-mii.", mii, limits.maxMii);
    return result;
  }
  // With a smaller II, the longest path does not fit the stages.
  unsigned ii = std::max(mii, result.recMii);
  const unsigned stages = std::max(limits.maxStages, 1u);
  const Times times = timesOf(graph, ii);
  ii = std::max(ii, static_cast<unsigned>(times.length) / stages + 1);
  // The next iteration waits for the branch.
  if (last) ii = std::max(ii, static_cast<unsigned>(times.asap[*last]) + 1);
  if (ii > limits.maxIi) {
    result.message = fmt::format("not pipelined: gain is too small: II {}, {} cycles now", ii, limits.maxIi);
    return result;
  }
  unsigned fewest = 0;
  // The order hardly depends on II.
  const std::vector<std::uint32_t> order = nodeOrder(graph, recurrences, times, last);
  // Where pipes are nearly full, nodes between placed ones find no slot. Ordered by earliest times, all nodes have only
  // their predecessors placed before them.
  std::vector<std::uint32_t> downward(graph.size());
  std::iota(downward.begin(), downward.end(), 0U);
  std::ranges::stable_sort(downward, {}, [&](std::uint32_t n) { return std::pair(times.asap[n], -times.height[n]); });
  for (unsigned tried = 0; tried < limits.iiSearchRange && ii <= limits.maxIi;
       ++tried, ii += 1 + (ii < 32 ? 0 : ii / 16)) {
    std::optional<Schedule> schedule = scheduleAt(graph, order, ii, last);
    if (!schedule) schedule = scheduleAt(graph, downward, ii, last);
    if (!schedule) continue;
    if (schedule->stages() > limits.maxStages) {
      fewest = fewest == 0 ? schedule->stages() : std::min(fewest, schedule->stages());
      continue;
    }
    if (schedule->stages() == 1) {
      result.message = "No need to pipeline - no overlapped iterations in schedule.";
      return result;
    }
    result.schedule = std::move(schedule);
    return result;
  }
  result.message = fewest == 0 ? "Unable to find schedule"
                               : fmt::format("Too many stages in schedule: {} > {}. Refer to -pipeliner-max-stages.",
                                             fewest, limits.maxStages);
  return result;
}

} // namespace orias::phases::modulo

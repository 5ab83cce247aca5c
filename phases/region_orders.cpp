#include "phases/region_orders.h"

#include "encoder/isa/target.h"
#include "phases/list_schedule.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace orias::phases {

namespace {

/// So far below its limit a file counts as full: one instruction may begin several values.
constexpr unsigned kMargin = 4;
constexpr unsigned kMarginPredicates = 1;
/// Candidates that are compared in each step; of more, those with the longest paths.
constexpr std::size_t kCandidates = 256;

isa::LatencyClass classOf(const ori::Instr& instr) {
  return isa::latencyClassOf(instr.op, instr.mods);
}

unsigned marginOf(std::size_t file) {
  return kScheduledFiles[file] == isa::File::P || kScheduledFiles[file] == isa::File::UP ? kMarginPredicates : kMargin;
}

bool isNear(const RegionCounts& live, const RegionCounts& limits) {
  for (std::size_t f = 0; f < live.size(); ++f)
    if (live[f] + marginOf(f) > limits[f]) return true;
  return false;
}

/// Files that are nearly full count by what they lack, priced by what a spill costs; others do not count.
int pressureCost(const RegionCounts& live, const RegionCounts& limits,
                 const std::array<int, kScheduledFiles.size()>& change) {
  int cost = 0;
  for (std::size_t f = 0; f < live.size(); ++f)
    if (live[f] + marginOf(f) + static_cast<unsigned>(std::max(change[f], 0)) > limits[f])
      cost += change[f] * kSpillCycles[f];
  return cost;
}

/// Nodes that may come next, those with the longest path first.
class ReadyList {
 public:
  explicit ReadyList(const std::vector<unsigned>& path) : path_(path) {}

  void add(std::uint32_t node) {
    const auto isBefore = [this](std::uint32_t a, std::uint32_t b) {
      return std::pair(path_[b], a) < std::pair(path_[a], b);
    };
    nodes_.insert(std::ranges::lower_bound(nodes_, node, isBefore), node);
  }
  std::span<const std::uint32_t> candidates() const { return {nodes_.data(), std::min(nodes_.size(), kCandidates)}; }
  std::uint32_t take(std::size_t at) {
    const std::uint32_t node = nodes_[at];
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(at));
    return node;
  }

 private:
  const std::vector<unsigned>& path_;
  std::vector<std::uint32_t> nodes_;
};

/// List scheduling in either direction. `edgesOf(node)` are the dependences that lead on, `open` counts those that a
/// node waits for.
template <typename Pressure, typename EdgesOf>
Order schedule(const ScheduleRegion& region, const RegionCounts& limits, std::vector<unsigned> open,
               const std::vector<unsigned>& path, EdgesOf edgesOf, bool (*goesFirst)(std::uint32_t, std::uint32_t),
               void (Pressure::*advance)(std::uint32_t), WhenShort whenShort) {
  Pressure pressure(region.values);
  std::vector<unsigned> earliest(open.size(), 0);
  std::array<unsigned, 16> pipeFree{};
  ReadyList ready(path);
  for (std::uint32_t n = 0; n < open.size(); ++n)
    if (open[n] == 0) ready.add(n);
  Order order;
  order.reserve(open.size());
  for (unsigned now = 0; order.size() < open.size(); ++now) {
    const bool isShort = isNear(pressure.live(), limits);
    const auto candidates = ready.candidates();
    const auto score = [&](std::uint32_t n) {
      // Compared from left to right; smaller is better.
      const isa::LatencyClass c = classOf(*region.instrs[n]);
      const unsigned start = std::max(earliest[n], pipeFree[region.target.pipe(c) & 15]);
      const int wait = start > now ? static_cast<int>(start - now) : 0;
      const int along = -static_cast<int>(path[n]);
      if (!isShort) return std::tuple(0, wait, along, 0);
      const auto change = pressure.change(n);
      const int cost = pressureCost(pressure.live(), limits, change);
      const int all = std::accumulate(change.begin(), change.end(), 0);
      if (whenShort == WhenShort::SourceOrder && cost >= 0) return std::tuple(0, -static_cast<int>(n), 0, 0);
      return std::tuple(cost, wait, along, all);
    };
    std::size_t best = 0;
    auto bestScore = score(candidates[0]);
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      const auto other = score(candidates[i]);
      if (other < bestScore || (other == bestScore && goesFirst(candidates[i], candidates[best]))) {
        best = i;
        bestScore = other;
      }
    }
    const std::uint32_t chosen = ready.take(best);
    const isa::LatencyClass c = classOf(*region.instrs[chosen]);
    const unsigned pipe = region.target.pipe(c) & 15;
    now = std::max({now, earliest[chosen], pipe != 0 ? pipeFree[pipe] : 0});
    if (pipe != 0) pipeFree[pipe] = now + region.target.issueCycles(c);
    (pressure.*advance)(chosen);
    order.push_back(chosen);
    for (const Dependence& d : edgesOf(chosen)) {
      earliest[d.to] = std::max(earliest[d.to], now + d.latency);
      if (--open[d.to] == 0) ready.add(d.to);
    }
  }
  return order;
}

} // namespace

ScheduleRegion::ScheduleRegion(std::span<ori::Instr* const> region, RegionValues regionValues, const isa::Target& chip)
    : instrs(region), values(std::move(regionValues)), graph(region, chip), target(chip), fromStart(region.size(), 0),
      toEnd(pathLengths(region, graph, chip)), predecessors(region.size()) {
  for (std::uint32_t n = 0; n < region.size(); ++n)
    for (const Dependence& d : graph.successors(n)) {
      fromStart[d.to] = std::max(fromStart[d.to], fromStart[n] + d.latency);
      predecessors[d.to].push_back({n, d.latency});
    }
}

OrderCost costOf(const ScheduleRegion& region, std::span<const std::uint32_t> order) {
  OrderCost cost;
  ForwardPressure pressure(region.values);
  std::vector<unsigned> earliest(order.size(), 0);
  std::array<unsigned, 16> pipeFree{};
  unsigned now = 0;
  for (std::uint32_t n : order) {
    pressure.issue(n);
    const isa::LatencyClass c = classOf(*region.instrs[n]);
    const unsigned pipe = region.target.pipe(c) & 15;
    now = std::max({now, earliest[n], pipe != 0 ? pipeFree[pipe] : 0});
    if (pipe != 0) pipeFree[pipe] = now + region.target.issueCycles(c);
    for (const Dependence& d : region.graph.successors(n))
      earliest[d.to] = std::max(earliest[d.to], now + d.latency);
    // What nothing in the region waits for may be waited for behind it.
    for (const RegionValues::Ref& ref : region.values.refs(n))
      if (ref.begins && region.values.values()[ref.value].isLiveAfter)
        cost.length = std::max(cost.length, now + region.target.expectedLatency(c));
    ++now;
  }
  cost.length = std::max(cost.length, now);
  cost.peak = pressure.peak();
  return cost;
}

unsigned busyCycles(const ScheduleRegion& region) {
  std::array<unsigned, 16> busy{};
  for (const ori::Instr* instr : region.instrs) {
    const isa::LatencyClass c = classOf(*instr);
    const unsigned pipe = region.target.pipe(c) & 15;
    if (pipe != 0) busy[pipe] += region.target.issueCycles(c);
  }
  return std::max(*std::ranges::max_element(busy), static_cast<unsigned>(region.instrs.size()));
}

Order sourceOrder(const ScheduleRegion& region) {
  Order order(region.instrs.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

Order latencyFirst(const ScheduleRegion& region, const RegionCounts& limits) {
  std::vector<unsigned> open(region.instrs.size());
  for (std::uint32_t n = 0; n < open.size(); ++n)
    open[n] = region.graph.predecessorCount(n);
  return schedule<ForwardPressure>(
      region, limits, std::move(open), region.toEnd, [&](std::uint32_t n) { return region.graph.successors(n); },
      [](std::uint32_t a, std::uint32_t b) { return a < b; }, &ForwardPressure::issue, WhenShort::FewestRegisters);
}

Order pressureAware(const ScheduleRegion& region, const RegionCounts& limits, WhenShort whenShort) {
  std::vector<unsigned> open(region.instrs.size());
  for (std::uint32_t n = 0; n < open.size(); ++n)
    open[n] = static_cast<unsigned>(region.graph.successors(n).size());
  Order order = schedule<BackwardPressure>(
      region, limits, std::move(open), region.fromStart,
      [&](std::uint32_t n) { return std::span<const Dependence>(region.predecessors[n]); },
      [](std::uint32_t a, std::uint32_t b) { return a > b; }, &BackwardPressure::place, whenShort);
  std::ranges::reverse(order);
  return order;
}

} // namespace orias::phases

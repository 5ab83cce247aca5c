#include "phases/modulo/overlap.h"

#include <algorithm>
#include <array>

namespace orias::phases::modulo {

namespace {

/// When an instance is first written and last touched, in cycles from the start of the iteration that writes it.
struct Lifetime {
  int begin = 0, end = 0;
  bool isWritten = false;
};

std::vector<Lifetime> lifetimesOf(const LoopBody& body, const Schedule& schedule) {
  std::vector<Lifetime> lifetimes(body.values.size());
  const auto ii = static_cast<int>(schedule.ii);
  for (const bool defs : {true, false})
    for (std::uint32_t n = 0; n < body.instrs.size(); ++n)
      for (std::size_t i = 0; i < body.refs[n].size(); ++i) {
        const ValueRef ref = body.refs[n][i];
        if (ref.value == ori::kNoId) continue;
        const bool isDef = i > 0 && body.instrs[n]->op_(static_cast<unsigned>(i - 1)).isDef;
        Lifetime& life = lifetimes[ref.value];
        int time = static_cast<int>(schedule.time[n]);
        // The iteration that writes a carried instance is the one before that which begins with it.
        if (body.values[ref.value].kind == Value::Kind::Carried && ref.shift == 0) time += ii;
        if (isDef && defs) {
          life.begin = life.isWritten ? std::min(life.begin, time) : time;
          life.isWritten = true;
        }
        life.end = std::max(life.end, time);
      }
  return lifetimes;
}

unsigned roundedUp(int a, unsigned b) {
  return a <= 0 ? 0 : (static_cast<unsigned>(a) + b - 1) / b;
}

} // namespace

Expansion expansionOf(const ori::Function&, const LoopBody& body, const Schedule& schedule) {
  Expansion expansion;
  const std::vector<Lifetime> lifetimes = lifetimesOf(body, schedule);
  for (std::size_t v = 0; v < body.values.size(); ++v) {
    const bool isInPlace = body.values[v].kind == Value::Kind::InPlace;
    const unsigned copies = isInPlace ? 1 : std::max(1u, roundedUp(lifetimes[v].end - lifetimes[v].begin, schedule.ii));
    expansion.copies.push_back(copies);
    expansion.unroll = std::max(expansion.unroll, copies);
  }
  for (unsigned& copies : expansion.copies)
    if (copies > 1) copies = expansion.unroll;
  return expansion;
}

ori::FileCounts kernelPressure(const ori::Function& function, const LoopFacts& facts, const LoopBody& body,
                               const Schedule& schedule) {
  // What the loop only passes on, or reads.
  ori::FileCounts always{};
  std::vector<bool> isWritten(function.vregCount(), false);
  for (const Value& value : body.values)
    isWritten[value.reg] = true;
  const ori::Components& components = facts.liveness.components();
  facts.liveness.liveOut(body.block->id).forEach([&](ori::CompId comp) {
    if (!components.isVirtual(comp) || !isWritten[components.vreg(comp)])
      ++always[static_cast<std::size_t>(components.file(comp))];
  });
  std::vector<ori::FileCounts> bySlot(schedule.ii, always);
  const std::vector<Lifetime> lifetimes = lifetimesOf(body, schedule);
  for (std::size_t v = 0; v < body.values.size(); ++v) {
    const ori::VReg& reg = function.vreg(body.values[v].reg);
    const auto file = static_cast<std::size_t>(reg.file);
    if (body.values[v].kind == Value::Kind::InPlace) {
      for (ori::FileCounts& counts : bySlot)
        counts[file] += reg.width;
      continue;
    }
    for (int t = lifetimes[v].begin; t < std::max(lifetimes[v].end, lifetimes[v].begin + 1); ++t)
      bySlot[static_cast<unsigned>(t) % schedule.ii][file] += reg.width;
  }
  ori::FileCounts peak{};
  for (const ori::FileCounts& counts : bySlot)
    for (std::size_t f = 0; f < counts.size(); ++f)
      peak[f] = std::max(peak[f], counts[f]);
  return peak;
}

unsigned sequentialCycles(const LoopGraph& graph, const std::vector<Recurrence>& recurrences, std::uint32_t branch) {
  const Times times = timesOf(graph, recMii(recurrences));
  std::vector<int> at(graph.size(), -1), earliest(graph.size(), 0);
  std::vector<unsigned> open(graph.size(), 0);
  for (const Edge& e : graph.edges())
    if (e.distance == 0) ++open[e.to];
  std::array<int, LoopGraph::kPipes> pipeFree{};
  int now = 0, left = static_cast<int>(graph.size());
  const auto startOf = [&](std::uint32_t n) {
    return std::max(earliest[n], graph.node(n).pipe != 0 ? pipeFree[graph.node(n).pipe] : 0);
  };
  while (left > 0) {
    std::uint32_t best = graph.size();
    const auto rank = [&](std::uint32_t n) { return std::pair(std::max(startOf(n), now), -times.height[n]); };
    for (std::uint32_t n = 0; n < graph.size(); ++n)
      if (at[n] < 0 && open[n] == 0 && (n != branch || left == 1) && (best == graph.size() || rank(n) < rank(best)))
        best = n;
    now = std::max(startOf(best), now);
    at[best] = now;
    if (graph.node(best).pipe != 0) pipeFree[graph.node(best).pipe] = now + static_cast<int>(graph.node(best).cycles);
    for (std::uint32_t e : graph.out(best)) {
      if (graph.edge(e).distance != 0) continue;
      const std::uint32_t to = graph.edge(e).to;
      earliest[to] = std::max(earliest[to], now + graph.edge(e).latency);
      --open[to];
    }
    ++now;
    --left;
  }
  int period = now;
  for (const Edge& e : graph.edges())
    if (e.distance > 0) period = std::max(period, (at[e.from] + e.latency - at[e.to] + e.distance - 1) / e.distance);
  return static_cast<unsigned>(period);
}

} // namespace orias::phases::modulo

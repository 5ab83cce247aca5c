#include "phases/modulo/overlap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

namespace orias::phases::modulo {

namespace {

/// When an instance is first written and last accessed, in cycles from the start of the iteration that writes it.
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
        // A carried instance is written in the iteration before the one that begins with it.
        if (body.values[ref.value].kind == Value::Kind::Carried && ref.shift == 0) time += ii;
        if (isDef && defs) {
          life.begin = life.isWritten ? std::min(life.begin, time) : time;
          life.isWritten = true;
        }
        life.end = std::max(life.end, time);
      }
  return lifetimes;
}

constexpr std::size_t kManyRegisters = 400; ///< more than any file has; larger counts do not matter

/// Registers of one file over the cycles of an unrolled kernel, which is a ring: values that are live for more than
/// half of it all interfere, however few are live at once.
class RingFile {
 public:
  using Slots = std::vector<std::uint64_t>;
  explicit RingFile(unsigned length) : length_(length) {}
  Slots none() const { return Slots(length_ / 64 + 1); }
  /// Adds the cycles from `begin` to `end`, at most once around the ring.
  void add(Slots& slots, int begin, int end) const {
    for (int t = begin; t < end; ++t)
      slots[static_cast<unsigned>(t) % length_ / 64] |= std::uint64_t{1} << static_cast<unsigned>(t) % length_ % 64;
  }
  /// Assigns the value the first aligned registers that are free in all its cycles.
  void place(const Slots& slots, unsigned width) {
    const unsigned step = std::bit_ceil(width);
    const auto isFree = [&](std::size_t r) {
      if (r >= registers_.size()) return true;
      for (std::size_t i = 0; i < slots.size(); ++i)
        if (registers_[r][i] & slots[i]) return false;
      return true;
    };
    for (std::size_t first = 0;; first += step) {
      bool fits = true;
      for (unsigned w = 0; w < width && fits; ++w)
        fits = isFree(first + w);
      if (!fits) continue;
      if (registers_.size() < first + width) registers_.resize(first + width, none());
      for (unsigned w = 0; w < width; ++w)
        for (std::size_t i = 0; i < slots.size(); ++i)
          registers_[first + w][i] |= slots[i];
      return;
    }
  }
  std::size_t size() const { return registers_.size(); }

 private:
  unsigned length_;
  std::vector<Slots> registers_;
};

/// The registers, by file, that are live throughout the loop: values that it only reads or that pass through it, and
/// those written in place.
ori::FileCounts heldThroughout(const ori::Function& function, const LoopFacts& facts, const LoopBody& body) {
  ori::FileCounts counts{};
  std::vector<bool> isWritten(function.vregCount(), false);
  for (const Value& value : body.values) {
    isWritten[value.reg] = true;
    if (const ori::VReg& reg = function.vreg(value.reg); value.kind == Value::Kind::InPlace)
      counts[static_cast<std::size_t>(reg.file)] += reg.width;
  }
  const ori::Components& components = facts.liveness.components();
  facts.liveness.liveOut(body.block->id).forEach([&](ori::CompId comp) {
    if (!components.isVirtual(comp) || !isWritten[components.vreg(comp)])
      ++counts[static_cast<std::size_t>(components.file(comp))];
  });
  return counts;
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
  std::vector<ori::FileCounts> bySlot(schedule.ii, heldThroughout(function, facts, body));
  const std::vector<Lifetime> lifetimes = lifetimesOf(body, schedule);
  for (std::size_t v = 0; v < body.values.size(); ++v) {
    if (body.values[v].kind == Value::Kind::InPlace) continue;
    const ori::VReg& reg = function.vreg(body.values[v].reg);
    for (int t = lifetimes[v].begin; t < std::max(lifetimes[v].end, lifetimes[v].begin + 1); ++t)
      bySlot[static_cast<unsigned>(t) % schedule.ii][static_cast<std::size_t>(reg.file)] += reg.width;
  }
  ori::FileCounts peak{};
  for (const ori::FileCounts& counts : bySlot)
    for (std::size_t f = 0; f < counts.size(); ++f)
      peak[f] = std::max(peak[f], counts[f]);
  return peak;
}

ori::FileCounts kernelRegisters(const ori::Function& function, const LoopFacts& facts, const LoopBody& body,
                                const Schedule& schedule, const Expansion& expansion) {
  ori::FileCounts counts = heldThroughout(function, facts, body);
  const std::vector<Lifetime> lifetimes = lifetimesOf(body, schedule);
  std::vector<std::uint32_t> order;
  for (std::uint32_t v = 0; v < body.values.size(); ++v)
    if (body.values[v].kind != Value::Kind::InPlace) order.push_back(v);
  const auto widthOf = [&](std::uint32_t v) { return function.vreg(body.values[v].reg).width; };
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(-int{widthOf(a)}, lifetimes[a].begin) < std::pair(-int{widthOf(b)}, lifetimes[b].begin);
  });
  std::map<std::size_t, RingFile> files;
  for (const std::uint32_t v : order) {
    const auto file = static_cast<std::size_t>(function.vreg(body.values[v].reg).file);
    RingFile& ring = files.try_emplace(file, schedule.ii * expansion.unroll).first->second;
    if (ring.size() > kManyRegisters) continue;
    const unsigned copies = expansion.copies[v], instances = expansion.unroll / copies;
    for (unsigned copy = 0; copy < copies; ++copy) {
      RingFile::Slots slots = ring.none();
      for (unsigned i = 0; i < instances; ++i) {
        const int start = static_cast<int>((copy + i) * schedule.ii);
        ring.add(slots, start + lifetimes[v].begin, start + std::max(lifetimes[v].end, lifetimes[v].begin + 1));
      }
      ring.place(slots, widthOf(v));
    }
  }
  for (const auto& [file, ring] : files)
    counts[file] += ring.size();
  return counts;
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

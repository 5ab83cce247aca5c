#include "phases/region_orders.h"

#include "encoder/isa/target.h"
#include "phases/list_schedule.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace orias::phases {

namespace {

/// A file counts as full this far below its limit: one instruction may begin several values.
constexpr unsigned kMargin = 4;
constexpr unsigned kMarginPredicates = 1;
/// The most candidates that are compared in each step: those with the longest paths.
constexpr std::size_t kCandidates = 256;

IssueCost issueCostOf(const ori::Instr& instr, const isa::Target& target) {
  const isa::LatencyClass c = isa::latencyClassOf(instr.op, instr.mods);
  return {static_cast<std::uint8_t>(target.pipe(c) & 15), static_cast<std::uint16_t>(target.issueCycles(c)),
          static_cast<std::uint16_t>(target.expectedLatency(c))};
}

/// The cycle in which an instruction issues that may issue from `earliest` on; occupies its pipe.
unsigned issueAt(unsigned earliest, const IssueCost& cost, std::array<unsigned, 16>& pipeFree) {
  if (cost.pipe == 0) return earliest;
  const unsigned at = std::max(earliest, pipeFree[cost.pipe]);
  pipeFree[cost.pipe] = at + cost.cycles;
  return at;
}

unsigned marginOf(std::size_t file) {
  return kScheduledFiles[file] == isa::File::P || kScheduledFiles[file] == isa::File::UP ? kMarginPredicates : kMargin;
}

bool isNear(const RegionCounts& live, const RegionCounts& limits) {
  for (std::size_t f = 0; f < live.size(); ++f)
    if (live[f] + marginOf(f) > limits[f]) return true;
  return false;
}

/// The cost of an instruction when registers are short. In files that are nearly full, registers above the limit count
/// with the price of a spill; other files do not count.
class PressureCost {
 public:
  explicit PressureCost(const ScheduleRegion& region) : most_(region.mostChanged()) {}
  void update(const RegionCounts& live, const RegionCounts& limits) {
    count_ = 0;
    for (std::size_t f = 0; f < live.size(); ++f) {
      const int room = static_cast<int>(limits[f]) - static_cast<int>(live[f] + marginOf(f));
      if (room < most_[f]) counted_[count_++] = {static_cast<std::uint8_t>(f), room};
    }
  }
  int of(const RegionChange& change) const {
    int cost = 0;
    for (unsigned i = 0; i < count_; ++i)
      if (const int by = change[counted_[i].file]; std::max(by, 0) > counted_[i].room)
        cost += by * kSpillCycles[counted_[i].file];
    return cost;
  }

 private:
  struct Counted {
    std::uint8_t file;
    int room;
  };

  std::array<int, kScheduledFiles.size()> most_;
  std::array<Counted, kScheduledFiles.size()> counted_{};
  unsigned count_ = 0;
};

/// A node whose predecessors have all been issued, with copies of the data that the scheduler compares, since each step
/// compares many nodes. `earliest` is final.
struct Ready {
  std::uint32_t node;
  unsigned rank; ///< key of the ready list
  unsigned earliest, pipe;

  /// The first cycle in which the node may issue.
  unsigned start(const std::array<unsigned, 16>& pipeFree) const { return std::max(earliest, pipeFree[pipe]); }
};

/// The ready list, longest path first; `rank` is the path length.
class ReadyList {
 public:
  void add(const Ready& ready) {
    const auto isBefore = [](const Ready& a, const Ready& b) {
      return std::pair(b.rank, a.node) < std::pair(a.rank, b.node);
    };
    nodes_.insert(std::ranges::lower_bound(nodes_, ready, isBefore), ready);
  }
  std::span<const Ready> candidates() const { return {nodes_.data(), std::min(nodes_.size(), kCandidates)}; }
  Ready take(std::size_t at) {
    const Ready taken = nodes_[at];
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(at));
    return taken;
  }

 private:
  std::vector<Ready> nodes_;
};

/// By node, how many barriers precede it: instructions without registers, which only memory dependences order.
std::vector<int> barriersBefore(const ScheduleRegion& region) {
  std::vector<int> count(region.instrs.size(), 0);
  for (std::uint32_t n = 0; n < count.size(); ++n)
    for (const Dependence& d : region.predecessors(n))
      count[n] = std::max(count[n], count[d.to] + (region.values.refs(d.to).empty() ? 1 : 0));
  return count;
}

/// List scheduling in either direction. `edgesOf(node)` are the dependences to nodes that are scheduled later; `open`
/// counts those that a node still waits for.
template <typename Pressure, typename EdgesOf>
Order schedule(const ScheduleRegion& region, const RegionCounts& limits, std::vector<unsigned> open,
               const std::vector<unsigned>& path, EdgesOf edgesOf, bool (*goesFirst)(std::uint32_t, std::uint32_t),
               void (Pressure::*advance)(std::uint32_t), WhenShort whenShort) {
  Pressure pressure = region.startOf<Pressure>();
  PressureCost cost(region);
  std::vector<unsigned> earliest(open.size(), 0);
  std::array<unsigned, 16> pipeFree{};
  ReadyList ready;
  const bool inSourceOrder = whenShort == WhenShort::SourceOrder, isNewestFirst = whenShort == WhenShort::NewestReady;
  std::vector<int> barriers, readySince; // for NewestReady
  if (isNewestFirst) {
    barriers = barriersBefore(region);
    readySince.resize(open.size());
  }
  auto add = [&, count = 0](std::uint32_t n) mutable {
    ready.add({n, path[n], earliest[n], region.costs[n].pipe});
    if (isNewestFirst) readySince[n] = count++;
  };
  for (std::uint32_t n = 0; n < open.size(); ++n)
    if (open[n] == 0) add(n);
  Order order;
  order.reserve(open.size());
  for (unsigned now = 0; order.size() < open.size(); ++now) {
    const bool isShort = isNear(pressure.live(), limits);
    const auto candidates = ready.candidates();
    const auto waitOf = [&](const Ready& candidate) {
      const unsigned start = candidate.start(pipeFree);
      return start > now ? start - now : 0;
    };
    std::size_t best = 0;
    if (!isShort) {
      // The list has the longest path first. Among the nodes that need not wait, the best is the first, or one with a
      // path of the same length.
      unsigned shortest = waitOf(candidates[0]);
      for (std::size_t i = 1; i < candidates.size(); ++i) {
        const bool isShorter = candidates[i].rank < candidates[best].rank;
        if (shortest == 0 && isShorter) break;
        const unsigned wait = waitOf(candidates[i]);
        if (wait > shortest ||
            (wait == shortest && (isShorter || !goesFirst(candidates[i].node, candidates[best].node))))
          continue;
        best = i;
        shortest = wait;
      }
    } else {
      cost.update(pressure.live(), limits);
      const auto costOf = [&](std::uint32_t n) {
        const int own = cost.of(pressure.change(n));
        return inSourceOrder || isNewestFirst ? std::min(own, 0) : own;
      };
      if (!isNewestFirst && !inSourceOrder) {
        // The last return of scoreOf below, evaluated only as far as needed, since most steps come here: missing
        // registers, wait, path length, and begun values. The list has the longest path first.
        const auto changeOf = [&](const Ready& candidate) {
          const RegionChange& change = pressure.change(candidate.node);
          return std::accumulate(change.begin(), change.end(), 0);
        };
        int least = costOf(candidates[0].node);
        unsigned shortest = waitOf(candidates[0]);
        for (std::size_t i = 1; i < candidates.size(); ++i) {
          const int own = costOf(candidates[i].node);
          if (own > least) continue;
          const unsigned wait = waitOf(candidates[i]);
          if (own == least) {
            if (wait > shortest || (wait == shortest && candidates[i].rank < candidates[best].rank)) continue;
            if (wait == shortest) {
              const int more = changeOf(candidates[i]) - changeOf(candidates[best]);
              if (more > 0 || (more == 0 && !goesFirst(candidates[i].node, candidates[best].node))) continue;
            }
          }
          best = i;
          least = own;
          shortest = wait;
        }
      } else {
        // Compared lexicographically; smaller is better.
        using Score = std::tuple<int, int, int, int>;
        const auto scoreOf = [&](const Ready& candidate, int own) {
          const std::uint32_t n = candidate.node;
          if (isNewestFirst) return Score(-barriers[n], own, -readySince[n], 0);
          if (own == 0) return Score(0, -static_cast<int>(n), 0, 0);
          const RegionChange& change = pressure.change(n);
          return Score(own, static_cast<int>(waitOf(candidate)), -static_cast<int>(candidate.rank),
                       std::accumulate(change.begin(), change.end(), 0));
        };
        Score bestScore = scoreOf(candidates[0], costOf(candidates[0].node));
        for (std::size_t i = 1; i < candidates.size(); ++i) {
          const int own = costOf(candidates[i].node);
          if (inSourceOrder && own > std::get<0>(bestScore)) continue;
          const Score score = scoreOf(candidates[i], own);
          if (bestScore < score || (score == bestScore && !goesFirst(candidates[i].node, candidates[best].node)))
            continue;
          best = i;
          bestScore = score;
        }
      }
    }
    const std::uint32_t chosen = ready.take(best).node;
    now = issueAt(std::max(now, earliest[chosen]), region.costs[chosen], pipeFree);
    (pressure.*advance)(chosen);
    order.push_back(chosen);
    for (const Dependence& d : edgesOf(chosen)) {
      earliest[d.to] = std::max(earliest[d.to], now + d.latency);
      if (--open[d.to] == 0) add(d.to);
    }
  }
  return order;
}

/// The live registers at each instruction of a schedule, updated while instructions are moved forward.
class LiveProfile {
 public:
  LiveProfile(const ScheduleRegion& region, std::span<const std::uint32_t> base)
      : values_(region.values), base_(base), positionOf_(base.size()), isIssued_(base.size(), 0), counts_(base.size()),
        touchesAt_(values_.values().size() + 1), touchesLeft_(values_.values().size(), 0),
        live_(values_.liveThrough()) {
    for (std::size_t id = 0; id < touchesLeft_.size(); ++id)
      touchesAt_[id + 1] = touchesAt_[id] + values_.values()[id].touches;
    touches_.resize(touchesAt_.back());
    for (std::uint32_t at = 0; at < base.size(); ++at) {
      positionOf_[base[at]] = at;
      for (const RegionValues::Ref& ref : values_.refs(base[at]))
        if (!ref.begins) touches_[touchesAt_[ref.value] + touchesLeft_[ref.value]++] = at;
    }
    for (const RegionValues::Value& v : values_.values())
      live_[v.file] += v.isLiveBefore;
    RegionCounts live = live_;
    std::vector<std::uint32_t> left = touchesLeft_;
    for (std::uint32_t at = 0; at < base.size(); ++at) {
      for (const RegionValues::Ref& ref : values_.refs(base[at])) {
        const RegionValues::Value& v = values_.values()[ref.value];
        if (!ref.begins && --left[ref.value] == 0 && !v.isLiveAfter) --live[v.file];
      }
      counts_[at] = live;
      for (const RegionValues::Ref& ref : values_.refs(base[at])) {
        if (!ref.begins) continue;
        const RegionValues::Value& v = values_.values()[ref.value];
        ++counts_[at][v.file];
        live[v.file] += v.touches != 0 || v.isLiveAfter;
      }
    }
  }

  std::uint32_t positionOf(std::uint32_t node) const { return positionOf_[node]; }
  /// The first instruction of the base order that has not been issued.
  std::uint32_t first() const { return base_[first_]; }

  /// Whether the instruction may issue next.
  bool fits(std::uint32_t node, const RegionCounts& limits) {
    const std::uint32_t position = positionOf_[node];
    if (position == first_) return true;
    if (position > first_ + kReach) return false;
    RegionCounts now = live_;
    collect(node);
    for (const Change& change : changes_)
      if (change.isGone) --now[change.file];
    for (const RegionValues::Ref& ref : values_.refs(node))
      if (ref.begins) ++now[values_.values()[ref.value].file];
    for (std::size_t f = 0; f < now.size(); ++f)
      if (now[f] > std::max(limits[f], counts_[first_][f])) return false;
    for (std::uint8_t f = 0; f < kScheduledFiles.size(); ++f)
      if (!fitsFile(f, position, limits[f])) return false;
    return true;
  }

  void issue(std::uint32_t node) {
    collect(node);
    const std::uint32_t position = positionOf_[node];
    isIssued_[position] = 1;
    for (const Change& change : changes_)
      for (std::uint32_t at = std::max(change.start, first_); at < position; ++at)
        counts_[at][change.file] = static_cast<unsigned>(static_cast<int>(counts_[at][change.file]) + change.by);
    for (const RegionValues::Ref& ref : values_.refs(node)) {
      const RegionValues::Value& v = values_.values()[ref.value];
      if (ref.begins) {
        live_[v.file] += v.touches != 0 || v.isLiveAfter;
        continue;
      }
      const auto begin = touches_.begin() + touchesAt_[ref.value], end = begin + touchesLeft_[ref.value];
      std::remove(begin, end, position);
      if (--touchesLeft_[ref.value] == 0 && !v.isLiveAfter) --live_[v.file];
    }
    while (first_ < base_.size() && isIssued_[first_] != 0)
      ++first_;
  }

 private:
  static constexpr std::uint32_t kReach = 512; ///< positions; instructions further down are not moved forward

  /// In the positions from `start` up to the instruction's old position, `by` more registers are live.
  struct Change {
    std::uint8_t file;
    int by;
    bool isGone; ///< the instruction has the last use of the value
    std::uint32_t start;
  };

  /// How many more registers of a file are live at a position.
  int changeAt(std::uint8_t file, std::uint32_t at) const {
    int by = 0;
    for (const Change& change : changes_)
      if (change.file == file && change.start <= at) by += change.by;
    return by;
  }

  /// Whether a file stays within its limit where the changes make more of it live.
  bool fitsFile(std::uint8_t file, std::uint32_t position, unsigned limit) {
    bool isMore = false, isEqual = true; // more at some position; the same change at all positions
    int all = 0;
    for (const Change& change : changes_) {
      if (change.file != file) continue;
      all += change.by;
      isMore |= change.by > 0;
      isEqual &= change.start <= first_;
    }
    if (!isMore || (isEqual && all <= 0)) return true;
    const auto isOver = [&](std::uint32_t at) {
      const int by = isEqual ? all : changeAt(file, at);
      return isIssued_[at] == 0 && by > 0 && static_cast<int>(counts_[at][file]) + by > static_cast<int>(limit);
    };
    // Usually the same position is full again.
    std::uint32_t& full = fullAt_[file];
    if (full >= first_ && full < position && isOver(full)) return false;
    for (std::uint32_t at = position; at-- > first_;) {
      if (!isOver(at)) continue;
      full = at;
      return false;
    }
    return true;
  }

  void collect(std::uint32_t node) {
    changes_.clear();
    const std::uint32_t position = positionOf_[node];
    for (const RegionValues::Ref& ref : values_.refs(node)) {
      const RegionValues::Value& v = values_.values()[ref.value];
      if (ref.begins) {
        if (v.touches != 0 || v.isLiveAfter) changes_.push_back({v.file, 1, false, first_});
        continue;
      }
      const std::uint32_t* touches = touches_.data() + touchesAt_[ref.value];
      const std::uint32_t left = touchesLeft_[ref.value];
      if (v.isLiveAfter || touches[left - 1] != position) continue;
      const bool isLast = left == 1;
      changes_.push_back({v.file, -1, isLast, isLast ? first_ : touches[left - 2]});
    }
  }

  const RegionValues& values_;
  std::span<const std::uint32_t> base_;
  std::vector<std::uint32_t> positionOf_; // by node
  std::vector<char> isIssued_;            // by position
  std::vector<RegionCounts> counts_;      // by position
  // By value: the positions of its remaining touches, ascending.
  std::vector<std::uint32_t> touchesAt_, touchesLeft_, touches_;
  std::vector<Change> changes_;
  RegionCounts live_;
  std::array<std::uint32_t, kScheduledFiles.size()> fullAt_{}; // the position where an instruction did not fit last
  std::uint32_t first_ = 0;                                    // position
};

} // namespace

ScheduleRegion::ScheduleRegion(std::span<ori::Instr* const> region, RegionValues regionValues, const isa::Target& chip)
    : instrs(region), values(std::move(regionValues)), graph(region, chip), costs(region.size()),
      fromStart(region.size(), 0), toEnd(pathLengths(region, graph, chip)), predecessorsAt_(region.size() + 1, 0) {
  const auto count = static_cast<std::uint32_t>(region.size());
  for (std::uint32_t n = 0; n < count; ++n) {
    costs[n] = issueCostOf(*region[n], chip);
    predecessorsAt_[n + 1] = predecessorsAt_[n] + graph.predecessorCount(n);
  }
  predecessors_.resize(predecessorsAt_[count]);
  std::vector<std::uint32_t> next(predecessorsAt_.begin(), predecessorsAt_.end() - 1);
  for (std::uint32_t n = 0; n < count; ++n)
    for (const Dependence& d : graph.successors(n)) {
      fromStart[d.to] = std::max(fromStart[d.to], fromStart[n] + d.latency);
      predecessors_[next[d.to]++] = {n, d.latency};
    }
  for (std::uint32_t n = 0; n < count; ++n) {
    std::array<int, kScheduledFiles.size()> changed{};
    for (const RegionValues::Ref& ref : values.refs(n))
      ++changed[values.values()[ref.value].file];
    for (std::size_t f = 0; f < changed.size(); ++f)
      mostChanged_[f] = std::max(mostChanged_[f], changed[f]);
  }
}

namespace {

/// Cycles from the issue of an instruction to its end, for the length of a schedule: a result without a use in the
/// region may be awaited after it.
unsigned cyclesToEnd(const ScheduleRegion& region, std::uint32_t node) {
  for (const RegionValues::Ref& ref : region.values.refs(node))
    if (ref.begins && region.values.values()[ref.value].isLiveAfter)
      return std::max<unsigned>(region.costs[node].latency, 1);
  return 1;
}

/// Cycles for which the instructions of a region occupy a pipe: in total, and the longest one.
struct PipeWork {
  unsigned all = 0, longest = 0;
};

std::array<PipeWork, 16> workOf(const ScheduleRegion& region) {
  std::array<PipeWork, 16> work{};
  for (const IssueCost& cost : region.costs) {
    if (cost.pipe == 0) continue;
    PipeWork& pipe = work[cost.pipe];
    pipe.all += cost.cycles;
    pipe.longest = std::max<unsigned>(pipe.longest, cost.cycles);
  }
  return work;
}

} // namespace

OrderCost costOf(const ScheduleRegion& region, std::span<const std::uint32_t> order, unsigned predicates) {
  OrderCost cost;
  unsigned registers = 0; // including predicates spilled to registers
  ForwardPressure pressure = region.startOf<ForwardPressure>();
  std::vector<unsigned> earliest(order.size(), 0);
  std::array<unsigned, 16> pipeFree{};
  unsigned now = 0;
  for (std::uint32_t n : order) {
    pressure.issue(n);
    const RegionCounts& live = pressure.live();
    registers = std::max(registers, live[kR] + (live[kP] - std::min(live[kP], predicates)) / 2);
    now = issueAt(std::max(now, earliest[n]), region.costs[n], pipeFree);
    for (const Dependence& d : region.graph.successors(n))
      earliest[d.to] = std::max(earliest[d.to], now + d.latency);
    cost.length = std::max(cost.length, now + cyclesToEnd(region, n));
    ++now;
  }
  cost.peak = pressure.peak();
  cost.peak[kR] = std::max(cost.peak[kR], registers);
  return cost;
}

unsigned leastLength(const ScheduleRegion& region) {
  auto least = static_cast<unsigned>(region.instrs.size());
  for (std::uint32_t n = 0; n < region.costs.size(); ++n)
    least = std::max(least, region.fromStart[n] + cyclesToEnd(region, n));
  // The last instruction of a pipe need not finish within the region.
  for (const PipeWork& work : workOf(region))
    least = std::max(least, work.all - work.longest);
  return least;
}

unsigned busyCycles(const ScheduleRegion& region) {
  auto busy = static_cast<unsigned>(region.instrs.size());
  for (const PipeWork& work : workOf(region))
    busy = std::max(busy, work.all);
  return busy;
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
      region, limits, std::move(open), region.fromStart, [&](std::uint32_t n) { return region.predecessors(n); },
      [](std::uint32_t a, std::uint32_t b) { return a > b; }, &BackwardPressure::place, whenShort);
  std::ranges::reverse(order);
  return order;
}

Order depthFirst(const ScheduleRegion& region) {
  const auto count = static_cast<std::uint32_t>(region.instrs.size());
  // By instruction: the registers that its tree needs, and those that its results occupy.
  std::vector<unsigned> need(count), left(count);
  std::vector<std::vector<std::uint32_t>> operands(count); // its predecessors, in the order to schedule them
  for (std::uint32_t n = 0; n < count; ++n) {
    for (const RegionValues::Ref& ref : region.values.refs(n))
      left[n] += ref.begins && region.values.values()[ref.value].file == kR;
    for (const Dependence& d : region.predecessors(n))
      operands[n].push_back(d.to);
    std::ranges::sort(operands[n], [&](std::uint32_t a, std::uint32_t b) {
      const unsigned freedA = need[a] - left[a], freedB = need[b] - left[b];
      return freedA != freedB ? freedA > freedB : a < b;
    });
    unsigned held = 0;
    for (const std::uint32_t operand : operands[n]) {
      need[n] = std::max(need[n], held + need[operand]);
      held += left[operand];
    }
    need[n] = std::max(need[n], left[n]);
  }
  Order order;
  order.reserve(count);
  std::vector<bool> isTaken(count);
  std::vector<std::pair<std::uint32_t, std::size_t>> path; // instructions, and how many of their operands are done
  for (std::uint32_t root = 0; root < count; ++root) {
    if (!region.graph.successors(root).empty()) continue;
    path.emplace_back(root, 0);
    isTaken[root] = true;
    while (!path.empty()) {
      auto& [n, done] = path.back();
      if (done == operands[n].size()) {
        order.push_back(n);
        path.pop_back();
        continue;
      }
      const std::uint32_t operand = operands[n][done++];
      if (isTaken[operand]) continue;
      isTaken[operand] = true;
      path.emplace_back(operand, 0);
    }
  }
  return order;
}

Order fillStalls(const ScheduleRegion& region, std::span<const std::uint32_t> base, const RegionCounts& limits) {
  constexpr unsigned kMaxChecks = 24; // of instructions that could issue
  LiveProfile profile(region, base);
  std::vector<unsigned> open(base.size()), earliest(base.size(), 0);
  std::array<unsigned, 16> pipeFree{};
  std::vector<Ready> ready; // sorted by position in the base order, which is `rank`
  const auto placeOf = [&](unsigned position) { return std::ranges::lower_bound(ready, position, {}, &Ready::rank); };
  const auto add = [&](std::uint32_t n) {
    const unsigned position = profile.positionOf(n);
    ready.insert(placeOf(position), Ready{n, position, earliest[n], region.costs[n].pipe});
  };
  for (std::uint32_t n = 0; n < open.size(); ++n)
    if ((open[n] = region.graph.predecessorCount(n)) == 0) add(n);
  Order order;
  order.reserve(base.size());
  for (unsigned now = 0; order.size() < base.size(); ++now) {
    std::uint32_t chosen = profile.first();
    unsigned start = std::max({now, earliest[chosen], pipeFree[region.costs[chosen].pipe]});
    unsigned checks = 0;
    for (const Ready& candidate : ready) {
      if (start == now) break;
      const unsigned other = std::max(now, candidate.start(pipeFree));
      if (other >= start) continue;
      if (++checks > kMaxChecks) break;
      if (!profile.fits(candidate.node, limits)) continue;
      chosen = candidate.node;
      start = other;
    }
    ready.erase(placeOf(profile.positionOf(chosen)));
    now = issueAt(start, region.costs[chosen], pipeFree);
    profile.issue(chosen);
    order.push_back(chosen);
    for (const Dependence& d : region.graph.successors(chosen)) {
      earliest[d.to] = std::max(earliest[d.to], now + d.latency);
      if (--open[d.to] == 0) add(d.to);
    }
  }
  return order;
}

} // namespace orias::phases

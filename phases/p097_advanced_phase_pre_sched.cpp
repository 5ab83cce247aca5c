#include "ori/analysis/liveness.h"
#include "ori/register_requests.h"
#include "phases/list_schedule.h"
#include "phases/occupancy.h"
#include "phases/phases.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace orias::phases {

namespace {

using ori::CompId;

/// Where the values of a block are read last; positions count from 1, 0 = nowhere.
struct LastReads {
  std::vector<std::uint32_t> position; ///< by instruction id
  std::vector<std::uint32_t> of;       ///< by component
};

/// Follows how many registers of a file are live while instructions of a region issue in some order.
class RegionPressure {
 public:
  RegionPressure(std::span<ori::Instr* const> region, const ori::Liveness& liveness, const LastReads& lastReads,
                 isa::File file, unsigned liveBefore)
      : region_(region), components_(liveness.components()), file_(file), live_(liveBefore), maximum_(liveBefore) {
    const ori::BlockId block = region.front()->block->id;
    const std::uint32_t end = lastReads.position[region.back()->id];
    for (ori::Instr* instr : region)
      forEachValue(*instr, [&](CompId c, bool isDef) {
        Value& v = values_[c];
        if (!v.isKnown) v.isLive = !isDef; // read before any write here: it was live before
        v.isKnown = true;
        if (!isDef) ++v.uses;
        v.isWantedLater = lastReads.of[c] > end || liveness.isLiveOut(block, c);
      });
  }

  /// By how much the count changes when the instruction issues now.
  int change(std::uint32_t node) const {
    int delta = 0;
    forEachValue(*region_[node], [&](CompId c, bool isDef) {
      const Value& v = values_.at(c);
      if (isDef)
        delta += !v.isLive && (v.uses != 0 || v.isWantedLater);
      else
        delta -= v.uses == 1 && !v.isWantedLater;
    });
    return delta;
  }

  void issue(std::uint32_t node) {
    forEachValue(*region_[node], [&](CompId c, bool isDef) {
      Value& v = values_.at(c);
      if (isDef || --v.uses != 0 || v.isWantedLater || !v.isLive) return;
      v.isLive = false;
      --live_;
    });
    forEachValue(*region_[node], [&](CompId c, bool isDef) {
      Value& v = values_.at(c);
      if (!isDef || v.isLive) return;
      maximum_ = std::max(maximum_, live_ + 1);
      if (v.uses == 0 && !v.isWantedLater) return;
      v.isLive = true;
      ++live_;
    });
    maximum_ = std::max(maximum_, live_);
  }

  unsigned live() const { return live_; }
  unsigned maximum() const { return maximum_; }

 private:
  struct Value {
    unsigned uses = 0; ///< in what is left of the region
    bool isKnown = false;
    bool isLive = false;
    bool isWantedLater = false;
  };

  template <typename F> void forEachValue(const ori::Instr& instr, F&& f) const {
    for (const ori::Operand& operand : instr.refs())
      if (operand.isReg(file_)) components_.forEach(operand, [&](CompId c) { f(c, operand.isDef); });
  }

  std::span<ori::Instr* const> region_;
  const ori::Components& components_;
  isa::File file_;
  std::unordered_map<CompId, Value> values_; // looked up, never walked
  unsigned live_;
  unsigned maximum_;
};

/// Goodman and Hsu's idea: while registers are plenty, issue what the longest path waits for; when they are short, what
/// frees most of them.
std::vector<std::uint32_t> orderForPressure(std::span<ori::Instr* const> region, const DependenceGraph& graph,
                                            std::array<RegionPressure, 4> pressures, const isa::Target& target,
                                            std::array<unsigned, 4> limits) {
  constexpr unsigned kMargin = 4;
  constexpr std::size_t kCandidates = 48; // looked at in each step, so that wide code does not cost its square
  const std::vector<unsigned> length = pathLengths(region, graph, target);
  std::vector<unsigned> open(region.size()), earliest(region.size(), 0);
  std::vector<std::uint32_t> ready, sequence;
  for (std::uint32_t n = 0; n < region.size(); ++n)
    if ((open[n] = graph.predecessorCount(n)) == 0) ready.push_back(n);
  // What a block copies for its successors stays behind all else: in front of the last reader of what was there before,
  // a copy would be an instruction.
  std::size_t firstOfRow = region.size();
  while (firstOfRow > 0 && region[firstOfRow - 1]->op == ori::Op::COPY)
    --firstOfRow;
  RegionPressure& pressure = pressures[0];
  const unsigned allowed = std::max(limits[0], pressure.live());
  std::array<RegionPressure, 4> asWritten = pressures;
  for (std::uint32_t n = 0; n < region.size(); ++n)
    for (RegionPressure& p : asWritten)
      p.issue(n);
  for (unsigned now = 0; sequence.size() < region.size(); ++now) {
    const bool isShort = pressure.live() + kMargin > allowed;
    std::size_t best = 0;
    auto score = [&](std::uint32_t n) {
      // Compared from left to right; smaller is better.
      const bool isLast = n >= firstOfRow;
      const unsigned wait = earliest[n] > now ? earliest[n] - now : 0;
      const int path = -static_cast<int>(length[n]);
      return isShort ? std::tuple(isLast, pressure.change(n), static_cast<int>(wait), path, n)
                     : std::tuple(isLast, static_cast<int>(wait), path, pressure.change(n), n);
    };
    for (std::size_t i = 1; i < std::min(ready.size(), kCandidates); ++i)
      if (score(ready[i]) < score(ready[best])) best = i;
    const std::uint32_t chosen = ready[best];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
    now = std::max(now, earliest[chosen]);
    for (RegionPressure& p : pressures)
      p.issue(chosen);
    sequence.push_back(chosen);
    for (const Dependence& d : graph.successors(chosen)) {
      earliest[d.to] = std::max(earliest[d.to], now + d.latency);
      if (--open[d.to] == 0) ready.push_back(d.to);
    }
  }
  // No order is worth a spill, or a warp.
  for (std::size_t f = 0; f < pressures.size(); ++f)
    if (pressures[f].maximum() > std::max(asWritten[f].maximum(), limits[f])) return {};
  return sequence;
}

} // namespace

/// Phase 97. Orders the instructions of each block before registers are chosen: loads early and their users late, as
/// far as that needs no more registers than the occupancy of the function as it is written leaves free. Blocks aside
/// are ordered for few registers.
bool advancedPhasePreSched(ori::Function& function, PhaseContext& context) {
  const ori::Cfg cfg(function);
  const ori::Liveness liveness(cfg);
  constexpr auto kR = static_cast<unsigned>(isa::File::R);
  const unsigned most = ori::computePressure(function, liveness).maximum[kR];
  const auto wanted = static_cast<unsigned>(context.knobs.get(Knob::PreSchedRegisterTarget));
  const unsigned limit = wanted != 0 ? wanted : registersUpToCliff(most, context);

  // The first file guides the order; the others only must not get worse than their files are large.
  constexpr std::array<isa::File, 4> kFiles = {isa::File::R, isa::File::P, isa::File::UR, isa::File::UP};
  constexpr unsigned kSpare = 1; // for the allocator's own moves
  const std::array<unsigned, 4> limits = {limit, context.target.registerCount(isa::File::P) - kSpare,
                                          context.target.registerCount(isa::File::UR) - kSpare,
                                          context.target.registerCount(isa::File::UP) - kSpare};
  // What runs seldom need not be fast: registers are always short there.
  std::array<unsigned, 4> limitsAside = limits;
  limitsAside[0] = 0;
  std::optional<ori::RegisterCounts> counts; // where warps give registers back
  if (ori::hasRegisterRequests(function)) counts.emplace(function, context.maxRegisters);
  const auto limitsOf = [&](const ori::Block& block) {
    std::array<unsigned, 4> here = block.isAside ? limitsAside : limits;
    const unsigned reserved = context.target.reservedRegisters();
    if (counts) here[0] = std::min(here[0], std::max(counts->atStart(block.id), reserved) - reserved);
    return here;
  };
  bool changed = false;
  std::vector<ori::FileCounts> liveBefore(function.instrIdCount());
  LastReads lastReads;
  lastReads.position.assign(function.instrIdCount(), 0);
  lastReads.of.assign(liveness.components().count(), 0);
  std::vector<CompId> read;
  ori::LiveCursor cursor(liveness);
  for (ori::Block* block : function.layout()) {
    if (!cfg.isReachable(block->id)) continue;
    cursor.enter(*block);
    while (const ori::Instr* instr = cursor.next()) {
      cursor.step();
      liveBefore[instr->id] = cursor.counts();
    }
    std::uint32_t position = 0;
    for (const ori::Instr& instr : *block) {
      lastReads.position[instr.id] = ++position;
      for (const ori::Operand& operand : instr.refs())
        if (operand.isReg() && !operand.isDef)
          liveness.components().forEach(operand, [&](CompId c) {
            lastReads.of[c] = position;
            read.push_back(c);
          });
    }
    changed |= scheduleBlock(function, *block, context.target, [&](auto region, const DependenceGraph& graph) {
      const auto follow = [&](isa::File file) {
        const unsigned live = liveBefore[region.front()->id][static_cast<unsigned>(file)];
        return RegionPressure(region, liveness, lastReads, file, live);
      };
      return orderForPressure(region, graph,
                              {follow(kFiles[0]), follow(kFiles[1]), follow(kFiles[2]), follow(kFiles[3])},
                              context.target, limitsOf(*block));
    });
    for (CompId c : read)
      lastReads.of[c] = 0;
    read.clear();
  }
  return changed;
}

} // namespace orias::phases

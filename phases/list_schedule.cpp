#include "phases/list_schedule.h"

#include "encoder/isa/effects.h"
#include "ori/analysis/analyses.h"

#include <algorithm>
#include <queue>
#include <set>

namespace orias::phases {

ScheduleMarks::ScheduleMarks(ori::Function& function, ori::Block& block) : function_(function) {
  for (ori::Instr* instr = block.last; instr; instr = instr->prev)
    if (instr->op == isa::Op::CONV_ALLOC && instr->next) marks_.emplace_back(instr, instr->next);
  for (const auto& [mark, after] : marks_)
    function_.unlink(mark);
}

ScheduleMarks::~ScheduleMarks() {
  for (const auto& [mark, after] : marks_)
    function_.insertBefore(after, mark);
}

std::vector<BlockRegion> regionsOf(ori::Block& block) {
  std::vector<BlockRegion> regions;
  BlockRegion region;
  region.block = &block;
  const auto flush = [&](ori::Instr* next) {
    region.next = next;
    if (region.instrs.size() > 1) regions.push_back(region);
    region.instrs.clear();
  };
  for (ori::Instr* instr = block.first; instr; instr = instr->next) {
    if (isPinned(*instr)) {
      flush(instr);
      continue;
    }
    region.instrs.push_back(instr);
    if (region.instrs.size() == kMaxRegion) flush(instr->next);
  }
  flush(nullptr);
  return regions;
}

bool reorder(ori::Function& function, const BlockRegion& region, std::span<const std::uint32_t> order) {
  const auto follows = [&](std::uint32_t a, std::uint32_t b) { return region.instrs[a]->next == region.instrs[b]; };
  if (std::ranges::adjacent_find(order, std::not_fn(follows)) == order.end()) return false;
  const ori::Changes before = function.changes();
  for (ori::Instr* instr : region.instrs)
    function.unlink(instr);
  for (std::uint32_t node : order)
    if (region.next)
      function.insertBefore(region.next, region.instrs[node]);
    else
      function.append(region.block, region.instrs[node]);
  function.analyses().noteReordered(before);
  return true;
}

bool scheduleBlock(ori::Function& function, ori::Block& block, const isa::Target& target, const OrderRegion& order) {
  const ScheduleMarks marks(function, block);
  bool changed = false;
  for (const BlockRegion& region : regionsOf(block))
    changed |= reorder(function, region, order(region.instrs, DependenceGraph(region.instrs, target)));
  return changed;
}

std::vector<unsigned> pathLengths(std::span<ori::Instr* const> region, const DependenceGraph& graph,
                                  const isa::Target& target) {
  std::vector<unsigned> length(region.size(), 0);
  for (std::uint32_t n = static_cast<std::uint32_t>(region.size()); n-- > 0;) {
    // A result without a use in the region may be awaited after it.
    const isa::LatencyClass c = isa::latencyClassOf(region[n]->op, region[n]->mods);
    length[n] = graph.successors(n).empty() ? target.expectedLatency(c) : 1;
    for (const Dependence& d : graph.successors(n))
      length[n] = std::max(length[n], d.latency + length[d.to]);
  }
  return length;
}

namespace {

template <typename F> void forEachTouch(const ori::Instr& instr, const isa::Target& target, F&& f) {
  isa::forEachTouch(instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard(), instr.ops(),
                    target, f);
}

/// How many cycles before the end of a block are considered: earlier results have arrived.
constexpr unsigned kMaxBack = 512;

} // namespace

Arrivals arrivalsAt(const ori::Function& function, const ori::Loops& loops, std::span<const ori::BlockId> predecessors,
                    ori::BlockId block, const isa::Target& target) {
  Arrivals arrivals;
  const ori::LoopId loop = loops.innermost(block);
  if (loop == ori::kNoId) return arrivals;
  for (ori::BlockId p : predecessors) {
    if (!loops.contains(loop, p)) continue;
    std::set<std::pair<isa::File, std::uint32_t>> touched; // accessed later, so already awaited
    unsigned back = 0;
    for (const ori::Instr* instr = function.block(p)->last; instr && back < kMaxBack; instr = instr->prev, ++back) {
      const unsigned latency = target.expectedLatency(isa::latencyClassOf(instr->op, instr->mods));
      forEachTouch(*instr, target, [&](const isa::Touch& t) {
        const std::pair key(t.file, t.reg);
        if (t.isDef && t.isLate && latency > back && !touched.contains(key))
          arrivals[key] = std::max(arrivals[key], latency - back);
      });
      forEachTouch(*instr, target, [&](const isa::Touch& t) { touched.emplace(t.file, t.reg); });
    }
  }
  return arrivals;
}

std::vector<std::uint32_t> orderByLatency(std::span<ori::Instr* const> region, const DependenceGraph& graph,
                                          const isa::Target& target, const Arrivals& arrivals) {
  const std::vector<unsigned> length = pathLengths(region, graph, target);
  std::vector<unsigned> open(region.size()), earliest(region.size(), 0);
  struct ByPath {
    const std::vector<unsigned>* length;
    bool operator()(std::uint32_t a, std::uint32_t b) const {
      return (*length)[a] != (*length)[b] ? (*length)[a] < (*length)[b] : a > b;
    }
  };
  struct ByTime {
    const std::vector<unsigned>* earliest;
    bool operator()(std::uint32_t a, std::uint32_t b) const {
      return (*earliest)[a] != (*earliest)[b] ? (*earliest)[a] > (*earliest)[b] : a > b;
    }
  };
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, ByPath> ready(ByPath{&length});
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, ByTime> waiting(ByTime{&earliest});
  for (std::uint32_t n = 0; n < region.size(); ++n) {
    open[n] = graph.predecessorCount(n);
    if (!arrivals.empty())
      forEachTouch(*region[n], target, [&](const isa::Touch& t) {
        const auto found = arrivals.find({t.file, t.reg});
        if (found != arrivals.end()) earliest[n] = std::max(earliest[n], found->second);
      });
    if (open[n] == 0) waiting.push(n);
  }
  std::vector<std::uint32_t> sequence;
  sequence.reserve(region.size());
  std::array<unsigned, 16> pipeFree{}; // by pipe: when it can accept the next instruction
  for (unsigned now = 0; sequence.size() < region.size();) {
    while (!waiting.empty() && earliest[waiting.top()] <= now) {
      ready.push(waiting.top());
      waiting.pop();
    }
    if (ready.empty()) {
      now = earliest[waiting.top()];
      continue;
    }
    // If the pipe of the most urgent instruction is busy, a few others are tried. If all are busy, the most urgent one
    // waits.
    std::vector<std::uint32_t> passed;
    std::uint32_t chosen = ready.top();
    constexpr std::size_t kLookAhead = 8;
    const auto pipeOf = [&](std::uint32_t n) {
      return target.pipe(isa::latencyClassOf(region[n]->op, region[n]->mods)) & 15;
    };
    while (pipeOf(chosen) != 0 && pipeFree[pipeOf(chosen)] > now && passed.size() < kLookAhead && ready.size() > 1) {
      passed.push_back(chosen);
      ready.pop();
      chosen = ready.top();
    }
    const unsigned pipe = pipeOf(chosen);
    if (pipe != 0 && pipeFree[pipe] > now && !passed.empty()) {
      for (std::uint32_t p : passed)
        ready.push(p);
      passed.clear();
      chosen = ready.top();
    }
    ready.pop();
    for (std::uint32_t p : passed)
      ready.push(p);
    const unsigned chosenPipe = pipeOf(chosen);
    if (chosenPipe != 0) {
      now = std::max(now, pipeFree[chosenPipe]);
      pipeFree[chosenPipe] = now + target.issueCycles(isa::latencyClassOf(region[chosen]->op, region[chosen]->mods));
    }
    sequence.push_back(chosen);
    for (const Dependence& d : graph.successors(chosen)) {
      earliest[d.to] = std::max(earliest[d.to], now + d.latency);
      if (--open[d.to] == 0) waiting.push(d.to);
    }
    ++now;
  }
  return sequence;
}

} // namespace orias::phases

#include "tools/emulator/full_machine.h"

#include "support/check.h"
#include "tools/emulator/warp_clock.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace orias::emu {

namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
/// The number of blocks that each slot runs in sequence. So the blocks get out of step, and the tail, when the machine
/// is no longer full, has little weight. The number is reduced where it would take too many steps.
constexpr std::uint64_t kWaves = 4;
constexpr std::uint64_t kMaxSteps = std::uint64_t{1} << 23;
/// Accesses of a quarter that may wait for the memory unit; if it is reached, the next one is not issued (Huerta 2025
/// in README.md).
constexpr unsigned kQueued = 5;

struct ResidentBlock {
  const BlockTrace* trace = nullptr;
  std::vector<std::uint32_t> arrived;
  unsigned running = 0;  ///< warps
  std::uint64_t end = 0; ///< of the last block in this slot, when `running` is 0
};

struct ResidentWarp {
  std::span<const BlockTrace::Step> steps;
  std::size_t next = 0;
  std::uint64_t ready = kNever; ///< kNever: it waits for others, or has ended
  std::uint64_t started = 0;    ///< number of its block
  std::size_t block = 0;        ///< slot of its block
  WarpClock clock;
};

/// A quarter of the multiprocessor.
struct Quarter {
  std::vector<std::size_t> warps; ///< slots
  std::size_t last = 0;           ///< that issued last: index into `warps`
  std::uint64_t nextTry = 0;      ///< no instruction can be issued earlier
  std::array<std::uint64_t, kPipes> pipeFree{};
  std::array<std::uint64_t, kQueued> begun{}; ///< start times of the last accesses in the memory unit
  std::size_t oldest = 0;                     ///< in `begun`
};

class Multiprocessor {
 public:
  Multiprocessor(std::span<const BlockTrace> traces, std::span<const IssueCost> costs, unsigned residentBlocks)
      : traces_(traces), costs_(costs), blocks_(residentBlocks), warpsOfEach_(traces[0].warps.size()) {
    warps_.resize(blocks_.size() * warpsOfEach_);
    for (std::size_t w = 0; w < warps_.size(); ++w)
      quarters_[w % kSchedulers].warps.push_back(w);
    std::uint64_t steps = 0;
    for (const BlockTrace& trace : traces)
      steps += trace.steps();
    const std::uint64_t ofOneWave = std::max<std::uint64_t>(steps * residentBlocks / traces.size(), 1);
    total_ = residentBlocks * std::clamp<std::uint64_t>(kMaxSteps / ofOneWave, 1, kWaves);
  }

  FullMachine run() {
    for (std::size_t place = 0; place < blocks_.size(); ++place)
      startBlock(place);
    while (over_ < total_) {
      for (Quarter& quarter : quarters_)
        if (quarter.nextTry <= now_) tryIssue(quarter);
      std::uint64_t next = kNever;
      for (const Quarter& quarter : quarters_)
        next = std::min(next, quarter.nextTry);
      ORIAS_CHECK(over_ >= total_ || next != kNever, "deadlock between warps");
      now_ = std::max(now_ + 1, next);
    }
    return {static_cast<unsigned>(blocks_.size()), total_, instructions_, end_};
  }

 private:
  void startBlock(std::size_t place) {
    if (started_ == total_) return;
    const std::uint64_t number = started_++;
    ResidentBlock& block = blocks_[place];
    block.trace = &traces_[number % traces_.size()];
    block.arrived.assign(block.trace->meetings.size(), 0);
    block.running = 0;
    for (std::size_t w = 0; w < warpsOfEach_; ++w) {
      const std::size_t at = place * warpsOfEach_ + w;
      ResidentWarp& warp = warps_[at];
      warp = {block.trace->warps[w], 0, kNever, number, place, {}};
      warp.clock.waitUntil(block.end);
      ++block.running;
    }
    for (std::size_t w = 0; w < warpsOfEach_; ++w)
      prepare(place * warpsOfEach_ + w);
  }

  /// Determines when the warp can continue. `now_` is too early for warps that a barrier releases, because they have
  /// issued it.
  void prepare(std::size_t at) {
    ResidentWarp& warp = warps_[at];
    warp.ready = kNever;
    if (warp.next == warp.steps.size()) return endWarp(warp);
    const BlockTrace::Step& step = warp.steps[warp.next];
    if (step.at == BlockTrace::kMeeting) return arrive(warp, step.meeting);
    warp.ready = warp.clock.readyAt(costs_[step.at]);
    Quarter& quarter = quarters_[at % kSchedulers];
    quarter.nextTry = std::min(quarter.nextTry, std::max(warp.ready, now_));
  }

  void arrive(ResidentWarp& warp, std::uint32_t meeting) {
    ResidentBlock& block = blocks_[warp.block];
    if (++block.arrived[meeting] < block.trace->meetings[meeting]) return;
    std::vector<std::size_t> waiting;
    std::uint64_t last = 0;
    for (std::size_t at = warp.block * warpsOfEach_; at < (warp.block + 1) * warpsOfEach_; ++at) {
      const ResidentWarp& other = warps_[at];
      if (other.next == other.steps.size()) continue;
      const BlockTrace::Step& step = other.steps[other.next];
      if (step.at != BlockTrace::kMeeting || step.meeting != meeting) continue;
      waiting.push_back(at);
      last = std::max(last, other.clock.now());
    }
    for (const std::size_t at : waiting) {
      warps_[at].clock.waitUntil(last);
      ++warps_[at].next;
    }
    for (const std::size_t at : waiting)
      prepare(at);
  }

  void endWarp(ResidentWarp& warp) {
    ResidentBlock& block = blocks_[warp.block];
    block.end = std::max(block.end, warp.clock.now());
    if (--block.running != 0) return;
    end_ = std::max(end_, block.end);
    ++over_;
    startBlock(warp.block);
  }

  /// The first cycle in which the units of the quarter accept the warp's next instruction.
  std::uint64_t possibleAt(const Quarter& quarter, const ResidentWarp& warp) const {
    if (warp.ready == kNever) return kNever;
    const IssueCost cost = costOf(warp.steps[warp.next]);
    std::uint64_t at = warp.ready;
    if (cost.kind != IssueCost::Kind::Product) at = std::max(at, quarter.pipeFree[pipeOf(cost)]);
    if (cost.usesMemoryUnit) at = std::max(at, quarter.begun[quarter.oldest]);
    return at;
  }

  /// The warp that issued last continues while it can; otherwise the youngest ready warp issues (Huerta 2025 in
  /// README.md).
  void tryIssue(Quarter& quarter) {
    std::size_t chosen = quarter.warps.size();
    std::uint64_t soonest = kNever;
    for (std::size_t i = 0; i < quarter.warps.size(); ++i) {
      const ResidentWarp& warp = warps_[quarter.warps[i]];
      const std::uint64_t at = possibleAt(quarter, warp);
      soonest = std::min(soonest, at);
      if (at > now_) continue;
      if (i == quarter.last) {
        chosen = i;
        break;
      }
      if (chosen == quarter.warps.size() || warp.started >= warps_[quarter.warps[chosen]].started) chosen = i;
    }
    if (chosen == quarter.warps.size()) {
      quarter.nextTry = soonest;
      return;
    }
    quarter.last = chosen;
    quarter.nextTry = now_ + 1;
    issue(quarter, quarter.warps[chosen]);
  }

  void issue(Quarter& quarter, std::size_t at) {
    ResidentWarp& warp = warps_[at];
    const BlockTrace::Step& step = warp.steps[warp.next++];
    const IssueCost cost = costOf(step);
    std::uint64_t& pipeFree = quarter.pipeFree[pipeOf(cost)];
    std::uint64_t begin = std::max(now_, pipeFree);
    pipeFree = begin + cost.busy;
    if (cost.usesMemoryUnit) {
      begin = std::max(begin, memoryFree_);
      memoryFree_ = begin + step.service;
      quarter.begun[quarter.oldest] = begin;
      quarter.oldest = (quarter.oldest + 1) % kQueued;
    }
    warp.clock.issue(cost, now_, begin, step.conflicts);
    ++instructions_;
    prepare(at);
  }

  IssueCost costOf(const BlockTrace::Step& step) const {
    const IssueCost& cost = costs_[step.at];
    return step.service == 0 && cost.usesMemoryUnit ? cost.idle() : cost;
  }

  static std::size_t pipeOf(const IssueCost& cost) { return static_cast<std::size_t>(cost.pipe); }

  std::span<const BlockTrace> traces_;
  std::span<const IssueCost> costs_;
  std::vector<ResidentBlock> blocks_; ///< by slot
  std::size_t warpsOfEach_;
  std::vector<ResidentWarp> warps_; ///< by slot
  std::array<Quarter, kSchedulers> quarters_;
  std::uint64_t memoryFree_ = 0;
  std::uint64_t now_ = 0, end_ = 0, total_ = 0, started_ = 0, over_ = 0, instructions_ = 0;
};

} // namespace

FullMachine fillMachine(std::span<const BlockTrace> traces, std::span<const IssueCost> costs, unsigned residentBlocks) {
  return Multiprocessor(traces, costs, residentBlocks).run();
}

} // namespace orias::emu

#include "encoder/word_liveness.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"
#include "ori/analysis/guarded_defs.h"

#include <algorithm>
#include <bitset>
#include <numeric>
#include <optional>

namespace orias::encoder {

namespace {

// One dense number for each register of each file.
constexpr std::array<unsigned, isa::kFileCount> kRegisters{256, 256, 8, 8, 16};
constexpr std::array<unsigned, isa::kFileCount> kFirst{0, 256, 512, 520, 528};
constexpr unsigned kUnits = 544;
static_assert(kFirst.back() + kRegisters.back() == kUnits);
using Units = std::bitset<kUnits>;

struct Step {
  Units reads; ///< under the guard, if there is one
  Units writes;
  ori::GuardValue guard = 0; ///< equal for two steps of a block if both execute or neither does; 0 without a guard
  std::optional<unsigned> predicate; ///< of the guard, which is always read
};

/// The units that are live at a point of a block, by the rules of ori::Liveness: see ori::GuardedLife.
class LiveUnits {
 public:
  explicit LiveUnits(const Units& liveOut) : live_(liveOut) {}

  const Units& units() const { return live_; }

  void stepUp(const Step& step) {
    if (step.guard == 0) {
      live_ &= ~step.writes;
      forget(step.writes | step.reads);
      live_ |= step.reads;
      return;
    }
    forEach(step.writes, [&](unsigned unit) { change(unit, [&](auto& life) { life.writeUnder(step.guard); }); });
    forEach(step.reads, [&](unsigned unit) { change(unit, [&](auto& life) { life.readUnder(step.guard); }); });
    if (step.predicate) change(*step.predicate, [](auto& life) { life.read(); });
  }

 private:
  struct Partial {
    unsigned unit;
    ori::GuardedLife life;
  };

  template <typename F> static void forEach(const Units& units, F&& f) {
    for (std::size_t unit = units._Find_first(); unit < kUnits; unit = units._Find_next(unit))
      f(static_cast<unsigned>(unit));
  }

  void forget(const Units& units) {
    std::erase_if(partial_, [&](const Partial& p) { return units.test(p.unit); });
  }

  /// Updates the live range of a unit that guarded steps access.
  template <typename F> void change(unsigned unit, F&& f) {
    auto at = std::ranges::find(partial_, unit, &Partial::unit);
    if (at == partial_.end()) at = partial_.insert(at, {unit, ori::GuardedLife(live_.test(unit))});
    f(at->life);
    live_.set(unit, at->life.isLive());
  }

  Units live_;
  std::vector<Partial> partial_; ///< units that guarded steps have accessed, and no other step since
};

class Solver {
 public:
  Solver(std::span<const isa::Word> words, const IndirectTargets& indirect, const isa::Target& target) {
    readSteps(words, target);
    const std::vector<Flow> flows = flowsOf(words, target);
    blocks_ = flowBlocks(flows, indirect);
    successors_.resize(blocks_.size());
    linkBlocks(flows);
  }

  WordLiveness run() {
    result_.live.resize(steps_.size());
    const std::vector<Units> written = maybeWritten();
    const std::vector<Units> liveOut = liveOutOfBlocks();
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      count(blocks_[b], written[b], liveOut[b]);
    return std::move(result_);
  }

 private:
  void readSteps(std::span<const isa::Word> words, const isa::Target& target) {
    steps_.resize(words.size());
    std::vector<std::uint32_t> lastWrite(kUnits, 0); // by predicate: the number of the step + 1
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto inst = isa::decodeFor(target, words[i]);
      if (!inst) continue;
      Step& step = steps_[i];
      if (!inst->guard.isZeroReg()) {
        step.predicate = kFirst[static_cast<unsigned>(inst->guard.file)] + inst->guard.reg;
        step.guard = ori::guardValue(*step.predicate + 1, lastWrite[*step.predicate], inst->guard.inverted());
      }
      isa::forEachTouch(*inst, target, [&](const isa::Touch& touch) {
        const auto file = static_cast<unsigned>(touch.file);
        if (touch.reg >= kRegisters[file]) return;
        const unsigned unit = kFirst[file] + touch.reg;
        if (touch.isDef) {
          step.writes.set(unit);
          lastWrite[unit] = static_cast<std::uint32_t>(i + 1);
        } else if (touch.operand != &inst->guard) {
          step.reads.set(unit);
        }
        result_.used[file] = std::max(result_.used[file], touch.reg + 1);
      });
    }
  }

  void linkBlocks(const std::vector<Flow>& flows) {
    std::vector<std::uint32_t> blockAt(steps_.size());
    std::vector<std::uint32_t> afterCalls;
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      std::fill(blockAt.begin() + blocks_[b].first, blockAt.begin() + blocks_[b].end, b);
      for (const FlowEdge& edge : blocks_[b].successors) {
        successors_[b].push_back(edge.to);
        if (edge.kind == FlowEdge::Kind::AfterCall) afterCalls.push_back(edge.to);
      }
    }
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      const Flow& last = flows[blocks_[b].end - 1];
      if (last.callee) successors_[b].push_back(blockAt[*last.callee]);
      if (last.isReturn) successors_[b].insert(successors_[b].end(), afterCalls.begin(), afterCalls.end());
    }
  }

  /// By block: the units that may have been written before it.
  std::vector<Units> maybeWritten() const {
    std::vector<Units> in(blocks_.size());
    std::vector<std::uint32_t> work(blocks_.size());
    std::iota(work.rbegin(), work.rend(), 0);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      Units out = in[b];
      for (std::uint32_t i = blocks_[b].first; i < blocks_[b].end; ++i)
        out |= steps_[i].writes;
      for (std::uint32_t s : successors_[b]) {
        if ((out & ~in[s]).none()) continue;
        in[s] |= out;
        work.push_back(s);
      }
    }
    return in;
  }

  std::vector<Units> liveOutOfBlocks() const {
    std::vector<std::vector<std::uint32_t>> predecessors(blocks_.size());
    for (std::uint32_t b = 0; b < blocks_.size(); ++b)
      for (std::uint32_t s : successors_[b])
        predecessors[s].push_back(b);
    std::vector<Units> out(blocks_.size());
    std::vector<std::uint32_t> work(blocks_.size());
    std::iota(work.begin(), work.end(), 0);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      LiveUnits live(out[b]);
      for (std::uint32_t i = blocks_[b].end; i-- > blocks_[b].first;)
        live.stepUp(steps_[i]);
      for (std::uint32_t p : predecessors[b]) {
        if ((live.units() & ~out[p]).none()) continue;
        out[p] |= live.units();
        work.push_back(p);
      }
    }
    return out;
  }

  void count(const FlowBlock& block, Units written, const Units& liveOut) {
    LiveUnits live(liveOut);
    std::vector<Units> liveAfter(block.end - block.first);
    for (std::uint32_t i = block.end; i-- > block.first;) {
      liveAfter[i - block.first] = live.units();
      live.stepUp(steps_[i]);
    }
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      written |= steps_[i].writes;
      const Units here = liveAfter[i - block.first] & written;
      for (unsigned file = 0; file < isa::kFileCount; ++file)
        for (unsigned r = 0; r < kRegisters[file]; ++r)
          result_.live[i][file] += here[kFirst[file] + r];
    }
  }

  std::vector<Step> steps_;
  std::vector<FlowBlock> blocks_;
  std::vector<std::vector<std::uint32_t>> successors_; // calls and returns included
  WordLiveness result_;
};

} // namespace

WordLiveness livenessOf(std::span<const isa::Word> words, const IndirectTargets& indirect, const isa::Target& target) {
  return Solver(words, indirect, target).run();
}

} // namespace orias::encoder

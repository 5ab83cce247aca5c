// Barriers of the CTA and of the cluster. A warp has arrived when all of its lanes that have not exited have arrived.
// It then counts as 32 threads, as the PTX manual specifies.

#include "tools/emulator/machine.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

namespace {

enum class Func : std::uint8_t { Popc, And, Or };

struct Kind {
  bool waits = true;
  bool reduces = false;
  bool isPacked = false; ///< number and count in one register
};

Kind kindOf(isa::Op op) {
  switch (op) {
  case isa::Op::BAR_SYNC_R: return {true, false, true};
  case isa::Op::BAR_ARV: return {false, false, false};
  case isa::Op::BAR_ARV_R: return {false, false, true};
  case isa::Op::BAR_RED: return {true, true, false};
  case isa::Op::BAR_RED_R: return {true, true, true};
  default: return {};
  }
}

} // namespace

void Machine::ctaBarrier(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) {
    ++path().pc;
    return;
  }
  const Kind kind = kindOf(op.inst.op);
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  std::uint32_t number = word(op, 0, 0, lane), count = 0;
  if (kind.isPacked) {
    count = number >> 16 & 0xfff;
    number &= 0xf;
  } else {
    count = word(op, 1, 0, lane);
  }
  if (number >= program_.ctaBarriers)
    return stop("memcheck", fmt::format("undefined barrier {}: the launch has {}", number, program_.ctaBarriers));
  CtaBarrier& barrier = cta_->barriers[number];
  Warp& w = warp();
  if (count != 0) barrier.needed = (count + kLanes - 1) / kLanes * kLanes;
  if (kind.reduces) {
    const std::uint32_t holds = predicateMask(op, op.predicate) & lanes;
    barrier.trueCount += static_cast<std::uint32_t>(std::popcount(holds));
    barrier.allTrue &= holds == lanes;
  }
  barrier.lanes[w.index] |= lanes;
  if (kind.waits) {
    const std::uint32_t others = path().mask & ~lanes, pc = path().pc;
    wait(lanes, Path::State::AtCtaBarrier, 0, number);
    if (others != 0) path().pc = pc + 1;
  } else {
    ++path().pc;
  }
  checkBarrier(number);
}

void Machine::checkBarrier(std::uint32_t number) {
  CtaBarrier& barrier = cta_->barriers[number];
  bool isOver = true, someArrived = false;
  for (const auto& w : cta_->warps) {
    std::uint32_t& arrived = barrier.lanes[w->index];
    if (arrived != 0 && (w->live & ~arrived) == 0) {
      arrived = 0;
      barrier.arrived += kLanes;
      barrier.complete[w->index] = true;
      if (options_.racecheck) races_.arrive(w->number, number);
    }
    someArrived |= barrier.complete[w->index];
    if (w->live != 0 && !barrier.complete[w->index]) isOver = false;
  }
  if (barrier.needed != 0) isOver = barrier.arrived >= barrier.needed;
  if (!isOver || !someArrived) return;
  std::vector<unsigned> waited;
  for (const auto& w : cta_->warps) {
    for (Path& p : w->paths) {
      if (p.state != Path::State::AtCtaBarrier || p.barrier != number) continue;
      if (waited.empty() || waited.back() != w->number) waited.push_back(w->number);
      p.state = Path::State::Ready;
      ++p.pc;
      // The kind of reduction is that of the instruction at which the lanes wait.
      const Operation& at = code_[p.pc - 1];
      w->barrierCount = barrier.trueCount;
      w->barrierAnswer = static_cast<Func>(isa::getMod(at.inst, isa::Mod::Func)) == Func::And ? barrier.allTrue
                                                                                              : barrier.trueCount != 0;
    }
  }
  barrier.needed = barrier.arrived = barrier.trueCount = 0;
  barrier.allTrue = true;
  ++barrier.phase;
  barrier.complete.assign(warpCount_, false);
  if (options_.racecheck) {
    for (const unsigned warp : waited)
      races_.leave(warp, number);
    races_.reset(cta_->rank, number);
  }
  if (figures_) figures_->meet(waited);
}

void Machine::checkBarriers() {
  for (std::uint32_t number = 0; number < cta_->barriers.size(); ++number) {
    const CtaBarrier& barrier = cta_->barriers[number];
    bool isUsed = barrier.arrived != 0;
    for (const std::uint32_t lanes : barrier.lanes)
      isUsed |= lanes != 0;
    if (isUsed) checkBarrier(number);
  }
  checkClusterBarrier();
}

/// UCGABAR_ARV: does not wait.
void Machine::arriveAtCluster(const Operation&, std::uint32_t lanes) {
  ++path().pc;
  if (lanes == 0) return;
  std::uint32_t& arrived = clusterBarrier_.lanes[warp().number];
  if ((arrived & lanes) != 0) return stop("memcheck", "arrives at the cluster barrier twice without a wait in between");
  arrived |= lanes;
  warp().clusterPhase = clusterBarrier_.phase;
  checkClusterBarrier();
}

/// Ends the phase when all warps of the cluster that have not exited have arrived.
void Machine::checkClusterBarrier() {
  ClusterBarrier& barrier = clusterBarrier_;
  bool isOver = true, someArrived = false;
  for (const Cta& cta : ctas_)
    for (const auto& w : cta.warps) {
      const std::uint32_t lanes = barrier.lanes[w->number];
      const bool isComplete = lanes != 0 && (w->live & ~lanes) == 0;
      if (isComplete && !barrier.complete[w->number]) {
        barrier.complete[w->number] = true;
        if (options_.racecheck) races_.arrive(w->number, RaceCheck::kCluster);
      }
      someArrived |= isComplete;
      isOver &= isComplete || w->live == 0;
    }
  if (!isOver || !someArrived) return;
  std::fill(barrier.lanes.begin(), barrier.lanes.end(), 0);
  std::fill(barrier.complete.begin(), barrier.complete.end(), false);
  ++barrier.phase;
  std::vector<unsigned> waited;
  for (const Cta& cta : ctas_)
    for (const auto& w : cta.warps)
      for (Path& p : w->paths) {
        if (p.state != Path::State::AtClusterBarrier) continue;
        p.state = Path::State::Ready;
        ++p.pc;
        if (waited.empty() || waited.back() != w->number) waited.push_back(w->number);
      }
  // A warp may start to wait after the phase has ended: its arrival is recorded.
  if (options_.racecheck)
    for (const unsigned w : waited)
      races_.leave(w, RaceCheck::kCluster);
  if (figures_) figures_->meet(waited);
}

/// UCGABAR_WAIT: waits for the end of the phase in which the warp arrived.
void Machine::waitForCluster(const Operation&, std::uint32_t lanes) {
  if (lanes != 0 && !warp().clusterPhase)
    return stop("memcheck", "waits at the cluster barrier before the warp has arrived");
  if (lanes == 0 || clusterBarrier_.phase != *warp().clusterPhase) {
    ++path().pc;
    if (lanes != 0 && options_.racecheck) races_.leave(warp().number, RaceCheck::kCluster);
    return;
  }
  const std::uint32_t others = path().mask & ~lanes, pc = path().pc;
  wait(lanes, Path::State::AtClusterBarrier, 0, 0);
  if (others != 0) path().pc = pc + 1;
}

/// B2R.RESULT: the result of the last BAR.RED of the warp.
void Machine::barrierResult(const Operation& op, std::uint32_t lanes) {
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    setWord(op, op.result, 0, lane, warp().barrierCount);
    setWord(op, 1, 0, lane, warp().barrierAnswer ? 1 : 0);
  }
}

} // namespace orias::emu

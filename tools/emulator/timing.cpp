#include "tools/emulator/timing.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/print.h"
#include "encoder/isa/settled_reads.h"
#include "encoder/isa/target.h"
#include "support/check.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

using isa::Access;
using isa::File;
using isa::LatencyClass;

namespace {

/// Fixed-latency classes that represent the writers of a file. A read lingers if one of them has to wait for it.
constexpr std::array<LatencyClass, 4> kWriters = {LatencyClass::Alu, LatencyClass::Fma, LatencyClass::Fp16,
                                                  LatencyClass::Fp64};
constexpr std::array<LatencyClass, 3> kUniformWriters = {LatencyClass::Udp, LatencyClass::Umov, LatencyClass::R2ur};

template <std::size_t N>
bool someHaveToWait(const isa::Target& target, File file, Access reader, const std::array<LatencyClass, N>& writers) {
  return std::any_of(writers.begin(), writers.end(),
                     [&](LatencyClass c) { return target.warLatency(file, reader, {c}).cycles > 1; });
}

} // namespace

Timing::Timing(const Program& program, const Code& code) : program_(program), target_(*program.target) {
  if (program.isOri) throw Error("a run with timing needs control words: it takes cubins, not Ori");
  steps_.resize(code.size());
  for (std::uint32_t i = 0; i < code.size(); ++i)
    if (!code[i].isUnknown) add(code[i].inst, steps_[i]);
}

void Timing::add(const isa::Inst& inst, Step& step) {
  step.latencyClass = isa::latencyClassOf(inst.op, inst.mods);
  step.isCutShort = inst.control.stall != 0 && inst.control.stall < isa::minStallOf(inst, target_);
  step.first = static_cast<std::uint32_t>(touches_.size());
  isa::forEachTouch(inst, target_, [&](const isa::Touch& t) {
    if (t.file == File::B) return;
    Touch touch;
    touch.unit = unitOf(t.file, t.reg);
    touch.isDef = t.isDef;
    touch.isLate = t.isLate;
    touch.access = t.access;
    if (t.operand && t.operand != &inst.guard) {
      touch.isNamed = true;
      touch.slot = static_cast<std::uint8_t>(t.operand - inst.operands.data());
      touch.word = static_cast<std::uint8_t>(t.reg - t.operand->reg);
    }
    if (!t.isDef && !t.isLate) {
      if (t.file == File::R) touch.lingers = someHaveToWait(target_, t.file, t.access, kWriters);
      if (t.file == File::UR) touch.lingers = someHaveToWait(target_, t.file, t.access, kUniformWriters);
    }
    touches_.push_back(touch);
  });
  step.end = static_cast<std::uint32_t>(touches_.size());
  if (step.latencyClass == LatencyClass::Depbar) {
    const int scoreboard = isa::desc(inst.op).slotIndex(isa::SlotId::sb),
              count = isa::desc(inst.op).slotIndex(isa::SlotId::count);
    if (scoreboard < 0 || count < 0) return;
    step.waitScoreboard = static_cast<std::int8_t>(inst.operands[static_cast<unsigned>(scoreboard)].imm);
    step.waitCount = static_cast<std::uint8_t>(inst.operands[static_cast<unsigned>(count)].imm);
  }
}

void Timing::start(unsigned warps) {
  clocks_.resize(warps);
  for (Clock& clock : clocks_) {
    clock.now = clock.nextArrival = 0;
    clock.pending.clear();
    clock.count.fill(0);
    clock.rows.clear();
    clock.freeRows.clear();
  }
}

// --- accesses in flight

template <typename Ends> void Timing::remove(Ends&& ends) {
  Clock& clock = *clock_;
  // A scoreboard may signal a write while an older one of fixed latency is in flight: the older value is never visible.
  // Older reads that were not too late for this write are no longer relevant, either.
  for (std::size_t i = 1; i < clock.pending.size(); ++i) {
    const Pending& newer = clock.pending[i];
    if (!newer.isWrite || !newer.isLate || clock.count[newer.unit] < 2 || !ends(newer)) continue;
    for (std::size_t k = 0; k < i; ++k)
      if (Pending& older = clock.pending[k]; older.unit == newer.unit && (older.isWrite || !older.isLate))
        older.lanes &= ~newer.lanes;
  }
  std::erase_if(clock.pending, [&](const Pending& p) {
    if (p.lanes != 0 && !ends(p)) return false;
    --clock.count[p.unit];
    if (p.isWrite) clock.freeRows.push_back(p.values);
    return true;
  });
}

void Timing::issue(Warp& warp, std::uint32_t at) {
  warp_ = &warp;
  clock_ = &clocks_[warp.number];
  at_ = at;
  replays_.clear();
  lost_.clear();
  Clock& clock = *clock_;
  const std::int64_t now = clock.now;
  const Step& step = steps_[at];
  if (const std::uint8_t mask = isa::awaitedScoreboards(program_.code[at].inst); mask != 0 && !clock.pending.empty()) {
    const auto delay = static_cast<std::int64_t>(target_.scoreboardDelay());
    remove([&](const Pending& p) {
      if (!p.isLate) return false;
      for (unsigned s = 0; s < kScoreboards; ++s)
        if ((p.cover & mask & 1u << s) != 0 && now - p.coveredSince[s] >= delay) return true;
      return false;
    });
  }
  if (step.isCutShort) {
    const isa::Inst& inst = program_.code[at].inst;
    findings_.push_back(fmt::format("{} stalls {} cycles, needs {}", program_.text(at), inst.control.stall,
                                    isa::minStallOf(inst, target_)));
  } else if (step.waitScoreboard >= 0) {
    waitForCount(step);
  }
  if (now >= clock.nextArrival) {
    const auto longest = static_cast<std::int64_t>(target_.maxFixedLatency());
    remove([&](const Pending& p) { return !p.isLate && now - p.issued >= longest; });
    clock.nextArrival = now + longest;
    for (const Pending& p : clock.pending)
      if (!p.isLate) clock.nextArrival = std::min(clock.nextArrival, p.issued + longest);
  }
}

/// DEPBAR.LE: at most the given number of the instructions that use the scoreboard are in flight. With a count above 0
/// this gives information only about instructions that complete in order.
void Timing::waitForCount(const Step& step) {
  const auto scoreboard = static_cast<std::uint8_t>(step.waitScoreboard);
  remove([&](const Pending& p) {
    if (!p.isLate) return false;
    if (step.waitCount == 0) return (p.cover & bit(scoreboard)) != 0;
    return (p.counted & bit(scoreboard)) != 0 && p.younger[scoreboard] >= step.waitCount;
  });
}

std::uint32_t* Timing::row(Unit unit) {
  const std::uint32_t index = unit & 0xff;
  switch (fileOf(unit)) {
  case File::P: return &warp_->p[index];
  case File::UR: return &warp_->u[index];
  case File::UP: return &warp_->up[index];
  default: return warp_->row(index);
  }
}

std::uint32_t Timing::keep(Unit unit) {
  Clock& clock = *clock_;
  if (clock.freeRows.empty()) {
    clock.freeRows.push_back(static_cast<std::uint32_t>(clock.rows.size()));
    clock.rows.emplace_back();
  }
  const std::uint32_t at = clock.freeRows.back();
  clock.freeRows.pop_back();
  std::copy_n(row(unit), fileOf(unit) == File::R ? kLanes : 1, clock.rows[at].begin());
  return at;
}

// --- reading

const Timing::Touch* Timing::touchOf(const Operation& op, unsigned read) const {
  const Read& r = op.reads[read];
  const Step& step = steps_[at_];
  for (std::uint32_t i = step.first; i < step.end; ++i) {
    const Touch& t = touches_[i];
    if (t.isNamed && !t.isDef && t.slot == r.slot && t.word == r.word) return &t;
  }
  return nullptr;
}

bool Timing::isVisible(const Pending& p, const Access& reader) const {
  return !p.isLate && clock_->now - p.issued >= target_.rawLatency(fileOf(p.unit), p.access, reader).cycles;
}

template <typename F> void Timing::forEachUnseen(Unit unit, const Access& reader, std::uint32_t lanes, F&& f) {
  if (clock_->count[unit] == 0) return;
  for (auto p = clock_->pending.rbegin(); p != clock_->pending.rend() && lanes != 0; ++p) {
    if (p->unit != unit || !p->isWrite || (p->lanes & lanes) == 0) continue;
    // Values written before a write that has arrived are no longer visible.
    if (isVisible(*p, reader)) {
      lanes &= ~p->lanes;
      continue;
    }
    const unsigned needed = p->isLate ? 0 : target_.rawLatency(fileOf(unit), p->access, reader).cycles;
    report(*p, needed, "is read");
    f(*p, p->lanes & lanes);
  }
}

const std::uint32_t* Timing::rowSeen(const Operation& op, unsigned index, const std::uint32_t* row,
                                     std::uint32_t lanes) {
  const Unit unit = unitOf(File::R, op.reads[index].row);
  if (clock_->count[unit] == 0) return row;
  const Touch* touch = touchOf(op, index);
  ORIAS_CHECK(touch, "a source operand has no dependence");
  Row& seen = seen_[index];
  bool isCopied = false;
  forEachUnseen(unit, touch->access, lanes, [&](const Pending& p, std::uint32_t unseen) {
    if (!isCopied) std::copy_n(row, kLanes, seen.begin());
    isCopied = true;
    for (std::uint32_t rest = unseen; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
      seen[lane] = clock_->rows[p.values][lane];
    }
  });
  return isCopied ? seen.data() : row;
}

std::uint32_t Timing::bitsSeen(Unit unit, const Access& reader, std::uint32_t bits, std::uint32_t lanes) {
  const bool isByLane = fileOf(unit) == File::P;
  forEachUnseen(unit, reader, isByLane ? lanes : ~0u, [&](const Pending& p, std::uint32_t unseen) {
    const std::uint32_t old = clock_->rows[p.values][0];
    bits = isByLane ? (bits & ~unseen) | (old & unseen) : old;
  });
  return bits;
}

std::uint32_t Timing::wordSeen(const Operation& op, unsigned index, std::uint32_t word, std::uint32_t lanes) {
  const Read& read = op.reads[index];
  const File file = read.from == From::Predicate ? File::P : read.from == From::Uniform ? File::UR : File::UP;
  const Unit unit = unitOf(file, read.row);
  if (clock_->count[unit] == 0) return word;
  const Touch* touch = touchOf(op, index);
  ORIAS_CHECK(touch, "a source operand has no dependence");
  return bitsSeen(unit, touch->access, word, lanes);
}

std::uint32_t Timing::guardBits(const Operation& op, std::uint32_t bits, std::uint32_t lanes) {
  const File file = op.guardFrom == From::UniformPredicate ? File::UP : File::P;
  return bitsSeen(unitOf(file, op.guardRow), {steps_[at_].latencyClass, Access::Port::Guard}, bits, lanes);
}

std::uint32_t Timing::predicateBits(unsigned predicate, std::uint32_t bits, std::uint32_t lanes) {
  return bitsSeen(unitOf(File::P, predicate), {steps_[at_].latencyClass}, bits, lanes);
}

// --- writing

void Timing::begin(std::uint32_t lanes) {
  const Step& step = steps_[at_];
  if (lanes == 0) return;
  for (std::uint32_t i = step.first; i < step.end; ++i)
    if (touches_[i].isDef) checkWrite(touches_[i], lanes);
  // Reads first, so that a register that the instruction both reads and writes is not a conflict.
  for (std::uint32_t i = step.first; i < step.end; ++i)
    if (const Touch& t = touches_[i]; !t.isDef && (t.isLate || t.lingers)) track(t, lanes);
  for (std::uint32_t i = step.first; i < step.end; ++i) {
    if (!touches_[i].isDef) continue;
    std::uint32_t stays = lanes;
    for (const Lost& lost : lost_)
      if (lost.unit == touches_[i].unit) stays &= ~lost.lanes;
    if (stays != 0) track(touches_[i], stays);
  }
}

void Timing::checkWrite(const Touch& touch, std::uint32_t lanes) {
  if (clock_->count[touch.unit] == 0) return;
  const bool isByLane = fileOf(touch.unit) == File::R || fileOf(touch.unit) == File::P;
  std::uint32_t lost = 0;
  for (const Pending& p : clock_->pending)
    if (p.unit == touch.unit && (!isByLane || (p.lanes & lanes) != 0))
      checkOverwrite(touch, p, isByLane ? p.lanes & lanes : ~0u, lost);
  if (lost == 0) return;
  Lost entry{touch.unit, lost, {}};
  std::copy_n(row(touch.unit), fileOf(touch.unit) == File::R ? kLanes : 1, entry.values.begin());
  lost_.push_back(entry);
}

void Timing::checkOverwrite(const Touch& touch, const Pending& p, std::uint32_t lanes, std::uint32_t& lost) {
  unsigned needed = 0;
  if (p.isLate) {
    // Instructions of a unit with in-order execution cannot overtake each other.
    const LatencyClass first = p.access.latencyClass, second = touch.access.latencyClass;
    const unsigned queue = p.isWrite ? target_.completionQueue(first) : target_.readQueue(first);
    const unsigned own = p.isWrite ? target_.completionQueue(second) : target_.readQueue(second);
    if (touch.isLate && queue != 0 && queue == own) return;
  } else {
    const isa::Latency latency = p.isWrite ? target_.wawLatency(fileOf(touch.unit), p.access, touch.access)
                                           : target_.warLatency(fileOf(touch.unit), p.access, touch.access);
    if (clock_->now - p.issued >= latency.cycles) return;
    needed = latency.cycles;
  }
  report(p, needed, p.isWrite ? "is written again" : "is overwritten before it is read");
  if (p.isWrite) {
    lost |= lanes;
    return;
  }
  for (Replay& r : replays_)
    if (r.at == p.producer) {
      r.lanes |= lanes;
      return;
    }
  replays_.push_back({p.producer, lanes & p.lanes});
}

void Timing::track(const Touch& touch, std::uint32_t lanes) {
  const isa::Control& control = program_.code[at_].inst.control;
  Clock& clock = *clock_;
  Pending p;
  p.unit = touch.unit;
  p.isWrite = touch.isDef;
  p.isLate = touch.isLate;
  p.access = touch.access;
  p.producer = at_;
  p.lanes = fileOf(touch.unit) == File::R || fileOf(touch.unit) == File::P ? lanes : ~0u;
  p.issued = clock.now;
  p.coveredSince.fill(clock.now);
  if (touch.isLate) {
    p.cover = bit(control.writeBarrier);
    if (target_.completionQueue(touch.access.latencyClass) != 0) p.counted = p.cover;
    // An atomic's predicate (whether it was performed) is available when the operands have been read.
    const bool isEarly = touch.access.latencyClass == LatencyClass::Atomic && fileOf(touch.unit) == File::P;
    if (!touch.isDef || isEarly) p.cover |= bit(control.readBarrier);
  } else {
    clock.nextArrival = std::min(clock.nextArrival, clock.now + static_cast<std::int64_t>(target_.maxFixedLatency()));
  }
  if (touch.isDef) {
    p.values = keep(touch.unit);
  } else {
    // The newest read replaces earlier ones of the same instruction.
    remove([&](const Pending& old) {
      return !old.isWrite && old.unit == p.unit && old.producer == at_ && old.lanes == p.lanes;
    });
  }
  ++clock.count[p.unit];
  clock.pending.push_back(p);
}

void Timing::end() {
  for (const Lost& lost : lost_) {
    std::uint32_t* to = row(lost.unit);
    if (fileOf(lost.unit) == File::R) {
      for (std::uint32_t rest = lost.lanes; rest != 0; rest &= rest - 1)
        to[std::countr_zero(rest)] = lost.values[static_cast<std::size_t>(std::countr_zero(rest))];
    } else if (fileOf(lost.unit) == File::P) {
      *to = (*to & ~lost.lanes) | (lost.values[0] & lost.lanes);
    } else {
      *to = lost.values[0];
    }
  }
  takeScoreboards();
  const isa::Inst& inst = program_.code[at_].inst;
  if (steps_[at_].latencyClass == LatencyClass::Barrier)
    remove([&](const Pending& p) {
      return p.isLate && !p.isWrite && isa::settlesReads(inst, !inst.guard.isZeroReg(), p.access.latencyClass, target_);
    });
  // A stall of 0 drains the pipeline.
  const std::uint8_t stall = program_.code[at_].inst.control.stall;
  clock_->now += stall != 0 ? stall : target_.maxFixedLatency();
}

/// Earlier instructions of the same queue have completed when this instruction completes. This also holds if its guard
/// is false in all lanes, because it passes through the queue anyway.
void Timing::takeScoreboards() {
  const isa::Control& control = program_.code[at_].inst.control;
  const std::uint8_t written = bit(control.writeBarrier), read = bit(control.readBarrier);
  if ((written | read) == 0) return;
  const LatencyClass own = steps_[at_].latencyClass;
  const unsigned completes = target_.completionQueue(own), reads = target_.readQueue(own);
  for (Pending& p : clock_->pending) {
    if (!p.isLate || (p.producer == at_ && p.issued == clock_->now)) continue;
    const LatencyClass earlier = p.access.latencyClass;
    std::uint8_t more = 0;
    if (completes != 0 && completes == target_.completionQueue(earlier)) {
      for (unsigned s = 0; s < kScoreboards; ++s)
        if (written >> s & p.counted >> s & 1) p.younger[s] += p.younger[s] < 63 ? 1 : 0;
      p.counted |= written;
      more |= written;
    }
    if (!p.isWrite && reads != 0 && reads == target_.readQueue(earlier)) more |= written | read;
    for (unsigned s = 0; s < kScoreboards; ++s)
      if ((more & ~p.cover) >> s & 1) p.coveredSince[s] = clock_->now;
    p.cover |= more;
  }
}

void Timing::report(const Pending& p, unsigned needed, const char* what) {
  const std::string name = fmt::format("{}{}", isa::fileName(static_cast<isa::File>(p.unit >> 8)), p.unit & 0xff);
  const std::string by = program_.text(p.producer);
  const char* verb = p.isWrite ? "written" : "read";
  if (p.isLate)
    findings_.push_back(
        fmt::format("{} {} without a wait for the scoreboard of {}, by which it is {}", name, what, by, verb));
  else
    findings_.push_back(fmt::format("{} {} {} cycles after {}, by which it is {}; that takes {}", name, what,
                                    clock_->now - p.issued, by, verb, needed));
}

} // namespace orias::emu

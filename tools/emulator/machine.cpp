// CTAs, warps, and the main loop.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "support/check.h"
#include "tools/emulator/emulator.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

namespace {

/// A path that has executed this many instructions lets others run at its next backward branch, because it may spin on
/// them. Where lanes reconverge at blocks this would lose reconvergence, so those paths wait far longer.
constexpr std::uint32_t kTurn = 4096;
constexpr std::uint32_t kLongTurn = 1 << 20;
constexpr std::uint32_t kMaxThreads = 1024;
/// Warp instructions between two calls of RunOptions::progress.
constexpr std::uint64_t kProgressStep = 1 << 16;

/// Calls f(lane) for each bit of a mask.
template <typename F> void forEachLane(std::uint32_t lanes, F&& f) {
  for (; lanes != 0; lanes &= lanes - 1)
    f(static_cast<unsigned>(std::countr_zero(lanes)));
}

} // namespace

launch::RunResult run(const Program& program, launch::Device& device, const launch::RunOptions& options) {
  return Machine(program, device, options).run();
}

Machine::Machine(const Program& program, launch::Device& device, const launch::RunOptions& options)
    : program_(program), device_(device), options_(options),
      clusters_(launch::clustersOf(device.launch, program.clusters)), constants_(program, device, clusters_),
      code_(program, constants_), meetsAnywhere_(program.isOri && !program.hasConvergenceBarriers), children_(program),
      runtime_(device, options, children_) {
  const launch::Dim3 block = device.launch.block;
  if (block.count() == 0 || block.count() > kMaxThreads)
    throw Error(fmt::format("a block of {} threads, expected 1 to {}", block.count(), kMaxThreads));
  if (options.timing) timing_.emplace(program, code_);
  if (options.stats) figures_.emplace(program, code_, options);
  threads_ = static_cast<std::uint32_t>(block.count());
  warpCount_ = (threads_ + kLanes - 1) / kLanes;
  localBase_ = kLocalTop - program.localBytes;
  if (clusters_.isExplicit && !program.target->has(isa::Capability::Clusters))
    throw Error(fmt::format("{} has no clusters", program.target->name()));
  ctas_.resize(clusters_.blocks());
  for (std::uint32_t rank = 0; rank < ctas_.size(); ++rank) {
    ctas_[rank].rank = rank;
    for (unsigned w = 0; w < warpCount_; ++w) {
      ctas_[rank].warps.push_back(std::make_unique<Warp>());
      ctas_[rank].warps[w]->index = w;
      ctas_[rank].warps[w]->number = rank * warpCount_ + w;
    }
  }
  takeClaims();
  // Numbers of virtual registers say nothing about a register count.
  changesRegisters_ =
      program.registers != 0 && !program.isOri && std::ranges::any_of(program.code, [](const Instruction& i) {
        return i.inst.op == isa::Op::USETMAXREG_ALLOC || i.inst.op == isa::Op::USETMAXREG_DEALLOC;
      });
}

launch::RunResult Machine::run() {
  try {
    runGrid();
  } catch (const Error& error) { // an instruction that its semantics function rejects
    stop("unsupported", error.what());
  }
  result_.completed = !stopped_;
  if (figures_) {
    result_.stats = figures_->report(device_.launch);
    result_.profile = figures_->profile();
  }
  if (hasClaims_) result_.stats.emplace_back("uniform reads compared", static_cast<double>(claimsCompared_));
  return std::move(result_);
}

void Machine::runGrid() {
  for (std::uint64_t number = 0; number < clusters_.count.count() && !stopped_; ++number)
    runCluster(number);
  if (stopped_) return;
  const launch::DriverResult end = runtime_.finish();
  addChildren();
  if (!end.failure.empty()) stop(end.kind, end.failure);
}

void Machine::startWarp(Warp& w) {
  const auto& rows = code_.rows();
  const auto rowsOf = [&](isa::File file) { return std::size_t{rows[static_cast<std::size_t>(file)]}; };
  w.registers = changesRegisters_ ? program_.registers : kAllRegisters;
  w.firstThread = w.index * kLanes;
  const std::uint32_t count = std::min(threads_ - w.firstThread, kLanes);
  w.live = count == kLanes ? ~0u : (1u << count) - 1;
  w.r.assign(std::max<std::size_t>(rowsOf(isa::File::R), 2) * kLanes, 0);
  w.u.assign(rowsOf(isa::File::UR), 0);
  w.p.assign(rowsOf(isa::File::P), 0);
  w.up.assign(rowsOf(isa::File::UP), 0);
  w.p[isa::kPT] = ~0u;
  w.up[isa::kUPT] = 1;
  w.b.assign(rowsOf(isa::File::B) * kLanes, 0);
  w.from.fill(~0u);
  w.paths.assign(1, Path{0, w.live});
  w.yielded = 0;
  w.current = 0;
  w.patience = 0;
  w.clusterPhase.reset();
  if (program_.frameBytes != 0) std::fill_n(w.row(1), kLanes, kLocalTop - program_.frameBytes);
}

void Machine::startCta(Cta& cta) {
  for (const auto& w : cta.warps)
    startWarp(*w);
  for (CtaBarrier& barrier : cta.barriers) {
    barrier = CtaBarrier{};
    barrier.lanes.assign(warpCount_, 0);
    barrier.complete.assign(warpCount_, false);
  }
  const std::uint32_t base = program_.target->sharedBase();
  cta.shared.reset(base, sharedBytes(program_, device_.launch) - base, options_.memcheck);
  constexpr std::uint32_t kRecordBytes = 0x20;
  cta.records.reset(program_.target->chip().cubin.reservedShared, kRecordBytes, false);
  startPairBarrier(cta);
  cta.tensor.reset();
  cta.locals.assign(threads_, FlatMemory());
  ++ctasStarted_;
}

void Machine::runCluster(std::uint64_t number) {
  const unsigned warps = warpCount_ * clusters_.blocks();
  for (Cta& cta : ctas_) {
    cta.id = clusters_.block(number, cta.rank);
    startCta(cta);
  }
  clusterBarrier_ = {std::vector<std::uint32_t>(warps, 0), std::vector<bool>(warps, false), 0};
  if (timing_) timing_->start(warps);
  if (figures_) figures_->startCluster(clusters_.blocks(), warpCount_);
  if (options_.racecheck) races_.start(ctas_[0].shared.size(), clusters_.blocks(), warpCount_);
  while (!stopped_) {
    bool someRan = false, someLive = false;
    for (Cta& cta : ctas_) {
      cta_ = &cta;
      for (const auto& w : cta.warps) {
        if (stopped_ || w->live == 0) continue;
        someLive = true;
        if (!w->isReady()) continue;
        someRan = true;
        runWarp(*w);
      }
    }
    if (!someLive) break;
    if (!someRan) reportDeadlock();
  }
  if (figures_) figures_->endCluster();
}

bool Machine::choosePath() {
  Warp& w = warp();
  if (w.paths.empty()) return false;
  patience_ = 0;
  if (meetsAnywhere_ && !givesWay_) {
    // The lanes at the lowest instruction run first, to catch up with the others.
    std::size_t best = w.paths.size();
    for (std::size_t i = 0; i < w.paths.size(); ++i)
      if (w.paths[i].state == Path::State::Ready && (best == w.paths.size() || w.paths[i].pc < w.paths[best].pc))
        best = i;
    w.current = best;
    if (best == w.paths.size()) return false;
    // Others may have arrived here while it waited for lanes that have exited.
    if (path().pc < code_.size() && code_[path().pc].startsBlock) mergePaths();
    return true;
  }
  for (std::size_t step = givesWay_ && !keepsPath_ ? 1 : 0; step <= w.paths.size(); ++step) {
    const std::size_t i = (w.current + step) % w.paths.size();
    if (w.paths[i].state != Path::State::Ready) continue;
    w.current = i;
    return true;
  }
  return false;
}

void Machine::runWarp(Warp& w) {
  warp_ = &w;
  turn_ = 0;
  givesWay_ = keepsPath_ = isSwitching_ = false;
  patience_ = w.patience;
  w.patience = 0;
  if (patience_ == 0 && !choosePath()) return;
  while (!stopped_) {
    Path& here = path();
    at_ = here.pc;
    if (at_ >= code_.size()) return stop("unsupported", "control flow leaves the code");
    const Operation& op = code_[at_];
    ++result_.warpInstructions;
    result_.threadInstructions += static_cast<std::uint64_t>(std::popcount(here.mask));
    if (result_.threadInstructions > options_.instructionBudget)
      return stop("budget", fmt::format("more than {} thread instructions", options_.instructionBudget));
    if (options_.progress && result_.warpInstructions % kProgressStep == 0)
      options_.progress->tell(result_.threadInstructions, ctasStarted_);
    ++turn_;
    if (timing_) timing_->issue(w, at_);
    const std::uint32_t lanes = guardMask(op);
    if (options_.trace)
      result_.trace += fmt::format("CTA ({}, {}, {}) warp {} lanes {:08x} {}\n", cta_->id.x, cta_->id.y, cta_->id.z,
                                   w.index, lanes, program_.text(at_));
    if (figures_) figures_->issue(w.number, at_, w.live, here.mask, lanes);
    if (hasClaims_) checkBlockClaim(op);
    // When a lane leaves the end of a block, immediately or after a wait, this block is its predecessor.
    const auto leaveBlock = [&] {
      if (code_.hasPhis() && at_ + 1 < code_.size() && code_[at_ + 1].startsBlock)
        forEachLane(here.mask, [&](unsigned lane) { w.from[lane] = op.block; });
    };
    if (op.isFlow) {
      resolve(op, lanes);
      if (timing_) timing_->begin(lanes);
      leaveBlock();
      (this->*op.handler)(op, lanes);
    } else {
      if (op.leavesRestUndefined) spoilResults(op, here.mask & ~lanes);
      if (lanes != 0) execute(op, lanes);
      leaveBlock();
      ++here.pc;
    }
    if (timing_) endTimed();
    if (program_.isOri && !stopped_ && !isSwitching_) {
      const Path& now = path();
      if (now.pc < code_.size() && code_[now.pc].startsBlock && meetsAnywhere_ && w.paths.size() > 1) enterBlock();
    }
    if (isSwitching_) {
      isSwitching_ = false;
      if (!choosePath()) return;
      if (!givesWay_) continue;
      givesWay_ = keepsPath_ = false;
      turn_ = 0;
      patience_ = kTurn;
      if (warpCount_ * clusters_.blocks() == 1) continue;
      w.patience = patience_;
      return;
    }
  }
}

void Machine::spoilResults(const Operation& op, std::uint32_t lanes) {
  constexpr std::uint32_t kSpoiled = 0x5bad5bad;
  Warp& w = warp();
  for (unsigned i = 0; i < op.writeCount; ++i) {
    const Write& write = op.writes[i];
    switch (write.to) {
    case From::Lane: forEachLane(lanes, [&](unsigned lane) { w.r[write.row * kLanes + lane] = kSpoiled; }); break;
    case From::Predicate: w.p[write.row] ^= lanes; break;
    // One value for all lanes, defined if one of them executes the instruction.
    case From::Uniform:
    case From::UniformPredicate: break;
    }
  }
}

void Machine::countTurn(bool isBackward) {
  if (!isBackward || turn_ < (meetsAnywhere_ ? kLongTurn : kTurn)) return;
  isSwitching_ = givesWay_ = true;
  keepsPath_ = !meetsAnywhere_; // waiting lanes do not let others of their warp run (observed on H200)
}

void Machine::endTimed() {
  timing_->end();
  const std::uint32_t here = at_;
  isReplaying_ = true;
  for (const Timing::Replay& replay : timing_->replays()) {
    const Operation& op = code_[replay.at];
    // An atomic would execute twice. The report mentions that it was disturbed.
    if (!op.isFlow && !isa::desc(op.inst.op).has(isa::Flag::Atomic)) execute(op, replay.lanes);
  }
  isReplaying_ = false;
  at_ = here;
  for (std::string& text : timing_->findings())
    finding("timing", std::move(text));
  timing_->findings().clear();
}

std::uint32_t Machine::guardMask(const Operation& op) {
  const Warp& w = *warp_;
  const std::uint32_t mask = w.paths[w.current].mask & op.quadLanes;
  if (!op.isGuarded) return mask;
  std::uint32_t holds = op.guardFrom == From::UniformPredicate ? (w.up[op.guardRow] != 0 ? ~0u : 0) : w.p[op.guardRow];
  if (timing_) {
    holds = op.guardFrom == From::UniformPredicate ? w.up[op.guardRow] : holds;
    holds = timing_->guardBits(op, holds, mask);
    if (op.guardFrom == From::UniformPredicate) holds = holds != 0 ? ~0u : 0;
  }
  if (op.guardIsInverted) holds = ~holds;
  return mask & holds;
}

void Machine::execute(const Operation& op, std::uint32_t lanes) {
  if (op.isUnknown) return stop("unsupported", "unknown instruction");
  if (!warp().products.empty() && lanes != 0) checkProducts(op);
  if (changesRegisters_ && lanes != 0) checkRegisters(op);
  resolve(op, lanes);
  if (timing_ && !isReplaying_) timing_->begin(lanes);
  if (figures_ && !isReplaying_) countAccess(op, lanes);
  if (op.handler)
    (this->*op.handler)(op, lanes);
  else if (op.isUniform && op.lane)
    uniformly(op);
  else if (op.lane)
    perLane(op, lanes);
  else if (op.warp)
    perWarp(op, lanes);
  else
    stop("unsupported", fmt::format("{} is not modelled", isa::desc(op.inst.op).name));
}

void Machine::resolve(const Operation& op, std::uint32_t lanes) {
  Warp& w = warp();
  for (unsigned i = 0; i < op.readCount; ++i) {
    const Read& read = op.reads[i];
    switch (read.from) {
    case From::Lane: rows_[i] = w.row(read.row); break;
    case From::Predicate: bits_[i] = w.p[read.row]; break;
    case From::Uniform: bits_[i] = w.u[read.row]; break;
    case From::UniformPredicate: bits_[i] = w.up[read.row]; break;
    }
  }
  if (hasClaims_) checkClaims(op, lanes);
  if (!timing_ || isReplaying_) return;
  for (unsigned i = 0; i < op.readCount; ++i) {
    if (op.reads[i].from == From::Lane)
      rows_[i] = timing_->rowSeen(op, i, rows_[i], lanes);
    else
      bits_[i] = timing_->wordSeen(op, i, bits_[i], lanes);
  }
}

void Machine::store(const Write& write, unsigned lane, std::uint32_t value) {
  Warp& w = warp();
  switch (write.to) {
  case From::Lane: w.row(write.row)[lane] = value; break;
  case From::Predicate: w.p[write.row] = (w.p[write.row] & ~(1u << lane)) | (value & 1) << lane; break;
  case From::Uniform: w.u[write.row] = value; break;
  case From::UniformPredicate: w.up[write.row] = value & 1; break;
  }
}

void Machine::perLane(const Operation& op, std::uint32_t lanes) {
  isa::LaneValues values = op.preset;
  for (unsigned i = 0; i < op.readCount; ++i)
    if (const Read& read = op.reads[i]; read.from == From::Uniform || read.from == From::UniformPredicate)
      values[read.slot].w[read.word] = bits_[i];
  forEachLane(lanes, [&](unsigned lane) {
    for (unsigned i = 0; i < op.readCount; ++i) {
      const Read& read = op.reads[i];
      if (read.from == From::Lane)
        values[read.slot].w[read.word] = rows_[i][lane];
      else if (read.from == From::Predicate)
        values[read.slot].w[read.word] = bits_[i] >> lane & 1;
    }
    op.lane(op.inst, values);
    for (unsigned i = 0; i < op.writeCount; ++i) {
      const Write& write = op.writes[i];
      store(write, lane, values[write.slot].w[write.word]);
    }
  });
}

void Machine::uniformly(const Operation& op) {
  isa::LaneValues values = op.preset;
  for (unsigned i = 0; i < op.readCount; ++i)
    values[op.reads[i].slot].w[op.reads[i].word] = bits_[i];
  op.lane(op.inst, values);
  for (unsigned i = 0; i < op.writeCount; ++i)
    store(op.writes[i], 0, values[op.writes[i].slot].w[op.writes[i].word]);
}

void Machine::perWarp(const Operation& op, std::uint32_t lanes) {
  warpValues_.active = lanes;
  forEachLane(lanes, [&](unsigned lane) {
    isa::LaneValues& values = warpValues_.lane[lane];
    for (unsigned slot = 0; slot < op.inst.operandCount; ++slot)
      if (op.firstRead[slot] < 0) values[slot] = op.preset[slot];
    for (unsigned i = 0; i < op.readCount; ++i) {
      const Read& read = op.reads[i];
      values[read.slot].w[read.word] = read.from == From::Lane        ? rows_[i][lane]
                                       : read.from == From::Predicate ? bits_[i] >> lane & 1
                                                                      : bits_[i];
    }
  });
  op.warp(op.inst, warpValues_);
  forEachLane(lanes, [&](unsigned lane) {
    for (unsigned i = 0; i < op.writeCount; ++i) {
      const Write& write = op.writes[i];
      // A uniform result is that of the first lane.
      const bool isUniform = write.to == From::Uniform || write.to == From::UniformPredicate;
      if (isUniform && lane != static_cast<unsigned>(std::countr_zero(lanes))) continue;
      store(write, lane, warpValues_.lane[lane][write.slot].w[write.word]);
    }
  });
}

std::uint32_t Machine::word(const Operation& op, int slot, unsigned number, unsigned lane) const {
  if (slot < 0) return 0;
  const auto s = static_cast<std::size_t>(slot);
  // A zero register provides as many words as the instruction reads.
  if (op.firstRead[s] < 0) return number < std::size(op.preset[s].w) ? op.preset[s].w[number] : 0;
  const auto i = static_cast<std::size_t>(op.firstRead[s]) + number;
  if (i >= op.readCount || op.reads[i].slot != s) return 0;
  switch (op.reads[i].from) {
  case From::Lane: return rows_[i][lane];
  case From::Predicate: return bits_[i] >> lane & 1;
  default: return bits_[i];
  }
}

std::uint32_t Machine::uniformWord(const Operation& op, int slot, unsigned number) const {
  return word(op, slot, number, 0);
}

std::uint32_t Machine::predicateMask(const Operation& op, int slot) const {
  if (slot < 0) return ~0u;
  const auto s = static_cast<std::size_t>(slot);
  const isa::Operand& operand = op.inst.operands[s];
  if (operand.isNone()) return ~0u;
  std::uint32_t mask = 0;
  if (op.firstRead[s] < 0)
    mask = op.preset[s].w[0] != 0 ? ~0u : 0;
  else if (const auto i = static_cast<std::size_t>(op.firstRead[s]); op.reads[i].from == From::Predicate)
    mask = bits_[i];
  else
    mask = bits_[i] != 0 ? ~0u : 0;
  return operand.inverted() ? ~mask : mask;
}

void Machine::setWord(const Operation& op, int slot, unsigned number, unsigned lane, std::uint32_t value) {
  if (slot < 0 || op.firstWrite[static_cast<std::size_t>(slot)] < 0) return;
  const auto i = static_cast<std::size_t>(op.firstWrite[static_cast<std::size_t>(slot)]) + number;
  if (i < op.writeCount && op.writes[i].slot == slot) store(op.writes[i], lane, value);
}

void Machine::stop(std::string kind, std::string text) {
  if (stopped_) return;
  stopped_ = isSwitching_ = true;
  result_.reports.insert(result_.reports.begin(), {std::move(kind), program_.text(at_), std::move(text), 1});
}

void Machine::finding(const char* kind, std::string text) {
  std::string where = program_.text(at_);
  for (launch::Report& report : result_.reports)
    if (report.kind == kind && report.where == where) {
      ++report.count;
      return;
    }
  result_.reports.push_back({kind, std::move(where), std::move(text), 1});
}

void Machine::reportDeadlock() {
  std::string text;
  for (const Cta& cta : ctas_)
    for (const auto& w : cta.warps)
      for (const Path& p : w->paths) {
        at_ = p.pc;
        text += fmt::format("{}CTA ({}, {}, {}) warp {} lanes {:#x} at {}", text.empty() ? "" : "; ", cta.id.x,
                            cta.id.y, cta.id.z, w->index, p.mask, program_.text(p.pc));
      }
  stop("deadlock", "deadlock: " + text);
}

} // namespace orias::emu

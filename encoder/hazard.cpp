#include "encoder/hazard.h"

#include "encoder/control_flow.h"
#include "encoder/hazard_wgmma.h"
#include "encoder/isa/codec.h"
#include "encoder/isa/print.h"
#include "encoder/isa/settled_reads.h"
#include "encoder/isa/target.h"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <fmt/format.h>
#include <iterator>

namespace orias::hazard {

namespace {

using isa::Access;
using isa::File;
using isa::LatencyClass;

constexpr std::uint8_t kNoScoreboard = isa::Control::kNoBarrier;

// One dense number for each register of each file, and for each scoreboard.
using Unit = std::uint16_t;
constexpr Unit unitOf(File file, std::uint32_t reg) {
  return static_cast<Unit>(static_cast<unsigned>(file) << 8 | (reg & 0xff));
}
constexpr Unit kFirstScoreboard = isa::kFileCount << 8;
constexpr Unit kClusterArrival = kFirstScoreboard | 0x80; ///< the block has arrived at the cluster's barrier
constexpr Unit kBarrierWords = kClusterArrival | 1;       ///< of mbarriers in shared memory
constexpr File fileOf(Unit unit) {
  return static_cast<File>(unit >> 8);
}

/// The guard of an instruction, while the predicate has not been rewritten.
struct Guard {
  Unit predicate = 0; ///< 0: none
  bool inverted = false;
  bool excludes(const Guard& other) const {
    return predicate != 0 && predicate == other.predicate && inverted != other.inverted;
  }
  friend bool operator==(const Guard&, const Guard&) = default;
};

/// A write or read in flight.
struct Pending {
  Unit unit = 0;
  bool isWrite = false;
  bool isLate = false; ///< only a scoreboard shows its completion
  Access access;
  std::uint32_t producer = 0;
  std::int32_t issued = 0;  ///< cycles, counted from the start of the block
  std::uint8_t cover = 0;   ///< it is complete after a wait for any of these scoreboards
  std::uint8_t counted = 0; ///< scoreboards set by instructions of the same completion queue: for DEPBAR.LE
  std::array<std::uint8_t, 6>
      younger{}; ///< by scoreboard of `counted`: how many later instructions of the queue set it
  Guard guard;

  auto key() const { return std::tuple(unit, producer, isWrite, isLate, access.port); }
};

/// The accesses in flight at some point, sorted by key() at block boundaries.
using State = std::vector<Pending>;

struct Step {
  isa::Inst inst;
  LatencyClass latencyClass = LatencyClass::None;
  bool isKnown = false;
  Guard guard;
};

struct Block : encoder::FlowBlock {
  State entry;
  bool isReached = false;
};

class Checker {
 public:
  Checker(std::span<const isa::Word> words, const isa::Target& target) : target_(target) {
    for (encoder::FlowBlock& block : encoder::flowBlocks(decodeAll(words)))
      blocks_.push_back({std::move(block), {}, false});
  }

  Report run() {
    solve();
    isReporting_ = true;
    for (const Block& block : blocks_)
      if (block.isReached) walk(block, block.entry);
    addProducts();
    auto& found = report_.violations;
    std::sort(found.begin(), found.end(), [](const Violation& a, const Violation& b) {
      return std::tuple(a.second, a.first, a.file, a.reg) < std::tuple(b.second, b.first, b.file, b.reg);
    });
    return std::move(report_);
  }

 private:
  // --- the program

  std::vector<encoder::Flow> decodeAll(std::span<const isa::Word> words) {
    steps_.resize(words.size());
    std::vector<encoder::Flow> flows(words.size());
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      Step& step = steps_[i];
      if (auto inst = isa::decodeFor(target_, words[i])) {
        step.inst = *inst;
        step.isKnown = true;
        step.latencyClass = isa::latencyClassOf(inst->op, inst->mods);
        flows[i] = encoder::flowOf(*inst, i, static_cast<std::uint32_t>(words.size()));
        if (!inst->guard.isZeroReg()) step.guard = {unitOf(inst->guard.file, inst->guard.reg), inst->guard.inverted()};
      } else {
        step.inst.control = isa::controlOf(words[i]);
        report_.unknown.push_back(i);
      }
    }
    return flows;
  }

  // --- data flow

  void solve() {
    if (blocks_.empty()) return;
    std::vector<std::uint32_t> work;
    std::vector<char> isQueued(blocks_.size(), 0);
    // Blocks that are only reached through a register (BRX, returns) have no edge here. They start with an empty state.
    std::vector<char> isTarget(blocks_.size(), 0);
    for (const Block& block : blocks_)
      for (const encoder::FlowEdge& edge : block.successors)
        isTarget[edge.to] = 1;
    for (std::uint32_t b = static_cast<std::uint32_t>(blocks_.size()); b-- > 0;) {
      if (isTarget[b] && b != 0) continue;
      blocks_[b].isReached = true;
      isQueued[b] = 1;
      work.push_back(b);
    }
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      isQueued[at] = 0;
      const State exit = walk(blocks_[at], blocks_[at].entry);
      for (const encoder::FlowEdge& edge : blocks_[at].successors) {
        Block& to = blocks_[edge.to];
        // The accesses that the callee leaves in flight are not tracked.
        const bool isAfterCall = edge.kind == encoder::FlowEdge::Kind::AfterCall;
        const bool changed = join(to.entry, isAfterCall ? State{} : exit) || !to.isReached;
        to.isReached = true;
        if (changed && !isQueued[edge.to]) {
          isQueued[edge.to] = 1;
          work.push_back(edge.to);
        }
      }
    }
  }

  /// Merges the state of another predecessor into the entry state of a block. Returns whether that changed it.
  static bool join(State& into, const State& from) {
    bool changed = false;
    State merged;
    merged.reserve(into.size() + from.size());
    auto a = into.begin();
    auto b = from.begin();
    while (a != into.end() || b != from.end()) {
      if (b == from.end() || (a != into.end() && a->key() < b->key())) {
        merged.push_back(*a++);
      } else if (a == into.end() || b->key() < a->key()) {
        merged.push_back(*b++);
        changed = true;
      } else {
        Pending both = *a;
        both.issued = std::max(a->issued, b->issued);
        both.cover = a->cover & b->cover;
        both.counted = a->counted & b->counted;
        for (std::size_t s = 0; s < both.younger.size(); ++s)
          both.younger[s] = std::min(a->younger[s], b->younger[s]);
        if (!(a->guard == b->guard)) both.guard = {};
        changed |= both.issued != a->issued || both.cover != a->cover || both.counted != a->counted ||
                   both.younger != a->younger || !(both.guard == a->guard);
        merged.push_back(both);
        ++a;
        ++b;
      }
    }
    into = std::move(merged);
    return changed;
  }

  /// Walks through a block. Returns the state at its end, with times relative to the end.
  State walk(const Block& block, const State& entry) {
    state_ = entry;
    now_ = 0;
    blockEnd_ = block.end;
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      wait(i);
      if (steps_[i].isKnown) execute(i);
      // A stall of 0 drains the pipeline.
      const unsigned stall = steps_[i].inst.control.stall;
      now_ += static_cast<std::int32_t>(stall != 0 ? stall : target_.maxFixedLatency());
      const auto limit = static_cast<std::int32_t>(target_.maxFixedLatency());
      std::erase_if(state_, [&](const Pending& p) { return !p.isLate && now_ - p.issued >= limit; });
    }
    for (Pending& p : state_)
      p.issued = p.isLate ? std::max(p.issued - now_, -64) : p.issued - now_;
    std::sort(state_.begin(), state_.end(), [](const Pending& x, const Pending& y) { return x.key() < y.key(); });
    return std::move(state_);
  }

  void addProducts() {
    if (std::ranges::none_of(steps_, [](const Step& s) { return s.isKnown && s.latencyClass == LatencyClass::Gmma; }))
      return;
    std::vector<std::optional<isa::Inst>> instructions(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].isKnown) instructions[i] = steps_[i].inst;
    const std::vector<encoder::FlowBlock> blocks(blocks_.begin(), blocks_.end());
    std::ranges::copy(checkProducts(instructions, blocks, target_), std::back_inserter(report_.violations));
  }

  // --- one instruction

  void execute(std::uint32_t index) {
    const Step& step = steps_[index];
    const isa::Control& control = step.inst.control;
    const unsigned least = isa::minStallOf(step.inst, target_);
    if (isReporting_ && control.stall != 0 && control.stall < least)
      report_.violations.push_back(
          {Kind::ShortStall, index, index, File::R, 0, least, control.stall, isa::Evidence::Observed});

    touches_.clear();
    isa::forEachTouch(step.inst, target_, [&](const isa::Touch& t) {
      if (t.file != File::B) touches_.push_back({unitOf(t.file, t.reg), t.isDef, t.isLate, t.access});
    });
    if (step.inst.op == isa::Op::WARPGROUP_ARRIVE) addArrivals(index);
    if (step.inst.op == isa::Op::UCGABAR_WAIT) checkArrival(index);
    checkBarrierWords(index);
    if (step.inst.op == isa::Op::UCGABAR_ARV) begin(index, {kClusterArrival, false, false, {step.latencyClass}});
    for (const Use& use : touches_)
      use.isDef ? checkWrite(index, use) : checkRead(index, use);
    for (const Use& use : touches_)
      if (use.isDef) replace(use.unit, step.guard.predicate == 0);
    for (const Use& use : touches_)
      begin(index, use);
    takeScoreboards(index);
    std::erase_if(state_, [&](const Pending& p) {
      return p.isLate && !p.isWrite &&
             isa::settlesReads(step.inst, step.guard.predicate != 0, p.access.latencyClass, target_);
    });
  }

  /// Adds the registers of the following products: when the warps arrive, sources must have been written, and
  /// destinations must have been read.
  void addArrivals(std::uint32_t index) {
    std::bitset<256> isThere, isAddendThere;
    for (std::uint32_t i = index + 1; i < blockEnd_ && steps_[i].inst.op != isa::Op::WARPGROUP_ARRIVE; ++i)
      if (steps_[i].isKnown && steps_[i].latencyClass == LatencyClass::Gmma)
        isa::forEachTouch(steps_[i].inst, target_, [&](const isa::Touch& t) {
          auto& seen = t.access.port == Access::Port::Addend ? isAddendThere : isThere;
          if (t.file != File::R || seen.test(t.reg & 0xff)) return;
          seen.set(t.reg & 0xff);
          touches_.push_back({unitOf(File::R, t.reg), false, false, {LatencyClass::WarpGroup, t.access.port}, t.isDef});
        });
  }

  /// mbarrier.init and mbarrier.inval are complete when threads synchronize at a barrier (observed: all code of ptxas).
  void checkBarrierWords(std::uint32_t index) {
    const isa::Op op = steps_[index].inst.op;
    const Use words{kBarrierWords, false, false, {steps_[index].latencyClass}};
    if (op == isa::Op::BAR_SYNC || op == isa::Op::BAR_SYNC_R || op == isa::Op::UCGABAR_ARV) checkRead(index, words);
    if (op == isa::Op::SYNCS_EXCH || op == isa::Op::SYNCS_CCTL_IV)
      begin(index, {kBarrierWords, true, true, {steps_[index].latencyClass}});
  }

  /// A wait that issues too early misses the arrival, so the block continues without the others.
  void checkArrival(std::uint32_t index) {
    const unsigned needed = target_.issueCycles(steps_[index].latencyClass);
    for (const Pending& p : state_)
      if (p.unit == kClusterArrival && now_ - p.issued < static_cast<std::int32_t>(needed))
        complain(Kind::TooClose, p, index, needed, isa::Evidence::Observed);
  }

  struct Use {
    Unit unit;
    bool isDef;
    bool isLate;
    Access access;
    bool endsReads = false; ///< earlier instructions must have read the register
  };

  void wait(std::uint32_t index) {
    const isa::Inst& inst = steps_[index].inst;
    const std::uint8_t mask = isa::awaitedScoreboards(inst);
    if (mask != 0) {
      // DEPBAR checks the scoreboards of its list later than instructions check those of their masks (observed: ptxas
      // for sm_75 places it directly after the instruction that sets one).
      for (const Pending& p : state_)
        if (p.unit >= kFirstScoreboard && p.unit < kClusterArrival &&
            (inst.control.waitMask >> (p.unit - kFirstScoreboard) & 1) != 0 &&
            now_ - p.issued < static_cast<std::int32_t>(target_.scoreboardDelay()))
          complain(Kind::EarlyWait, p, index, target_.scoreboardDelay(), isa::Evidence::Observed);
      std::erase_if(state_, [&](const Pending& p) { return p.isLate && (p.cover & mask) != 0; });
    }
    if (steps_[index].latencyClass == LatencyClass::Depbar) waitForCount(inst);
  }

  /// DEPBAR.LE SBn, k: at most k of the instructions that set the scoreboard are still in flight. With k above 0, only
  /// instructions that complete in order are known to be complete: those with k younger ones in their queue. Other
  /// instructions that set the scoreboard may be complete as well, so they do not count.
  void waitForCount(const isa::Inst& inst) {
    const int scoreboardSlot = isa::desc(inst.op).slotIndex(isa::SlotId::sb);
    const int countSlot = isa::desc(inst.op).slotIndex(isa::SlotId::count);
    if (scoreboardSlot < 0 || countSlot < 0) return;
    const auto scoreboard = static_cast<unsigned>(inst.operands[scoreboardSlot].imm);
    const int count = inst.operands[countSlot].imm;
    std::erase_if(state_, [&](const Pending& p) {
      if (!p.isLate) return false;
      if (count == 0) return (p.cover >> scoreboard & 1) != 0;
      return (p.counted >> scoreboard & 1) != 0 && p.younger[scoreboard] >= count;
    });
  }

  void checkRead(std::uint32_t index, const Use& use) {
    for (const Pending& p : state_) {
      if (p.unit != use.unit || p.guard.excludes(steps_[index].guard)) continue;
      if (!p.isWrite && !(use.endsReads && p.isLate)) continue;
      if (p.isLate) {
        complain(Kind::MissingWait, p, index, 0, isa::Evidence::Observed);
      } else {
        const isa::Latency needed = target_.rawLatency(fileOf(use.unit), p.access, use.access);
        if (now_ - p.issued < needed.cycles) complain(Kind::Raw, p, index, needed.cycles, needed.evidence);
      }
    }
  }

  void checkWrite(std::uint32_t index, const Use& use) {
    const bool isLateWrite = use.isLate;
    for (const Pending& p : state_) {
      if (p.unit != use.unit || p.producer == index || p.guard.excludes(steps_[index].guard)) continue;
      if (p.isLate) {
        // Units that execute in order keep the order of their accesses.
        const LatencyClass first = p.access.latencyClass, second = use.access.latencyClass;
        const unsigned queue = p.isWrite ? target_.completionQueue(first) : target_.readQueue(first);
        const unsigned own = p.isWrite ? target_.completionQueue(second) : target_.readQueue(second);
        if (!isLateWrite || queue == 0 || queue != own)
          complain(Kind::MissingWait, p, index, 0, isa::Evidence::Observed);
        continue;
      }
      const isa::Latency needed = p.isWrite ? target_.wawLatency(fileOf(use.unit), p.access, use.access)
                                            : target_.warLatency(fileOf(use.unit), p.access, use.access);
      if (now_ - p.issued < needed.cycles)
        complain(p.isWrite ? Kind::Waw : Kind::War, p, index, needed.cycles, needed.evidence);
    }
  }

  /// A register gets a new value: the accesses in flight have been checked against this write.
  void replace(Unit unit, bool isCertain) {
    for (Pending& p : state_)
      if (p.guard.predicate == unit) p.guard = {};
    if (isCertain) std::erase_if(state_, [&](const Pending& p) { return p.unit == unit; });
  }

  void begin(std::uint32_t index, const Use& use) {
    const isa::Control& control = steps_[index].inst.control;
    Pending p;
    p.unit = use.unit;
    p.isWrite = use.isDef;
    p.isLate = use.isLate;
    p.access = use.access;
    p.producer = index;
    p.issued = now_;
    p.guard = steps_[index].guard;
    if (use.isLate) {
      p.cover = bit(control.writeBarrier);
      if (target_.completionQueue(use.access.latencyClass) != 0) p.counted = p.cover;
      // The predicate of an atomic (whether it was performed) is available when the operands have been read; ptxas
      // waits only for that.
      const bool isEarly = use.access.latencyClass == LatencyClass::Atomic && fileOf(use.unit) == File::P;
      if (!use.isDef || isEarly) p.cover |= bit(control.readBarrier);
    }
    // The same access may be pending from an earlier iteration or through another port: the newer one counts.
    std::erase_if(state_, [&](const Pending& old) { return old.key() == p.key(); });
    state_.push_back(p);
  }

  static std::uint8_t bit(std::uint8_t scoreboard) {
    return scoreboard < kNoScoreboard - 1 ? static_cast<std::uint8_t>(1u << scoreboard) : 0;
  }

  void takeScoreboards(std::uint32_t index) {
    const Step& step = steps_[index];
    const std::uint8_t written = bit(step.inst.control.writeBarrier), read = bit(step.inst.control.readBarrier);
    if ((written | read) == 0) return;
    const unsigned completes = target_.completionQueue(step.latencyClass);
    const unsigned reads = target_.readQueue(step.latencyClass);
    for (Pending& p : state_) {
      if (!p.isLate || p.producer == index) continue;
      // Earlier accesses of the same queue are complete when this one is, even if its guard is false: ptxas relies on
      // guarded-off instructions passing through the queue.
      const LatencyClass earlier = p.access.latencyClass;
      if (completes != 0 && completes == target_.completionQueue(earlier)) countYounger(p, written);
      if (!p.isWrite && reads != 0 && reads == target_.readQueue(earlier)) p.cover |= written | read;
    }
    for (unsigned s = 0; s < target_.scoreboardCount(); ++s) {
      if (((written | read) >> s & 1) == 0) continue;
      Pending p;
      p.unit = static_cast<Unit>(kFirstScoreboard + s);
      p.producer = index;
      p.issued = now_;
      std::erase_if(state_, [&](const Pending& old) { return old.unit == p.unit; });
      state_.push_back(p);
    }
  }

  /// An instruction of the queue of `p` set the scoreboard `written` (one bit, or none).
  static void countYounger(Pending& p, std::uint8_t written) {
    if (written == 0) return;
    const auto s = static_cast<std::size_t>(std::countr_zero(written));
    if ((p.counted & written) != 0) {
      p.younger[s] += p.younger[s] < 63 ? 1 : 0;
    } else {
      p.counted |= written;
      p.younger[s] = 0;
    }
    p.cover |= written;
  }

  void complain(Kind kind, const Pending& first, std::uint32_t second, unsigned needed, isa::Evidence evidence) {
    if (!isReporting_) return;
    const bool isScoreboard = first.unit >= kFirstScoreboard;
    report_.violations.push_back({kind, first.producer, second, isScoreboard ? File::R : fileOf(first.unit),
                                  static_cast<std::uint32_t>(first.unit & 0xff), needed,
                                  static_cast<unsigned>(now_ - first.issued), evidence});
  }

  const isa::Target& target_;
  std::vector<Step> steps_;
  std::vector<Block> blocks_;
  Report report_;
  bool isReporting_ = false;
  // While walking a block.
  State state_;
  std::int32_t now_ = 0;
  std::uint32_t blockEnd_ = 0;
  std::vector<Use> touches_;
};

} // namespace

Report check(std::span<const isa::Word> words, const isa::Target& target) {
  return Checker(words, target).run();
}

std::string describe(const Violation& violation, std::span<const isa::Word> words, const isa::Target& target) {
  const auto text = [&](std::uint32_t index) {
    isa::PrintOptions options;
    options.address = 16ull * index;
    const auto inst = isa::decodeFor(target, words[index]);
    return fmt::format("{:#06x} {}", 16 * index, inst ? isa::printFor(target, *inst, options) : "?");
  };
  static constexpr const char* kEvidence[] = {"observed", "table", "assumed"};
  const std::string what = violation.kind == Kind::EarlyWait
                               ? fmt::format("scoreboard {}", violation.reg)
                               : fmt::format("{}{}", isa::fileName(violation.file), violation.reg);
  const char* evidence = kEvidence[static_cast<unsigned>(violation.evidence)];
  const std::string first = text(violation.first), second = text(violation.second);
  switch (violation.kind) {
  case Kind::Raw:
    return fmt::format("{} -> {}: {} is ready after {} cycles, is read after {} ({})", first, second, what,
                       violation.needed, violation.actual, evidence);
  case Kind::Waw:
    return fmt::format("{} -> {}: {} may be written again after {} cycles, is after {} ({})", first, second, what,
                       violation.needed, violation.actual, evidence);
  case Kind::War:
    return fmt::format("{} -> {}: {} is still read for {} cycles, is written after {} ({})", first, second, what,
                       violation.needed, violation.actual, evidence);
  case Kind::MissingWait: return fmt::format("{} -> {}: {} is not waited for", first, second, what);
  case Kind::EarlyWait:
    return fmt::format("{} -> {}: {} is waited for after {} cycles, counts as taken after {}", first, second, what,
                       violation.actual, violation.needed);
  case Kind::TooClose:
    return fmt::format("{} -> {}: issues {} cycles later, needs {}", first, second, violation.actual, violation.needed);
  case Kind::ProductUnderWay: return fmt::format("{} -> {}: {} belongs to a wgmma in flight", first, second, what);
  case Kind::NoArrival: return fmt::format("{}: the warps have not arrived for this wgmma", first);
  case Kind::ShortStall:
    return fmt::format("{}: stalls {} cycles, needs {}", first, violation.actual, violation.needed);
  }
  return {};
}

} // namespace orias::hazard

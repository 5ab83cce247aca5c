// Chooses stall counts: second half of phases 115 and 116.
//
// Cycles are counted along each block without waits for scoreboards, which is the fastest that the code can run. An
// instruction issues when its predecessor has stalled long enough for every fixed latency that ends in it. Events in
// flight at the end of a block are passed to its successors with their age. If their first instructions need more time,
// the ends of the predecessors are extended, until nothing changes. Stalls only grow, so this terminates.

#include "phases/control_info.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace orias::phases {

namespace {

constexpr Unit kFirstScoreboard = isa::kFileCount << 8;
constexpr Unit kFirstPipe = kFirstScoreboard | 0x80; ///< a pipe that is busy for longer than the largest stall count

/// A pending fixed-latency read or write, or a scoreboard that was just set.
struct Event {
  Unit unit = 0;
  bool isWrite = false;
  isa::Access access;
  std::int32_t issued = 0; ///< counted from the start of the block; negative for events of predecessors

  auto key() const { return std::tuple(unit, isWrite, access.latencyClass, access.port); }
};
using State = std::vector<Event>; // sorted by key() at block boundaries

/// A filter for a set of units: rejects most other units in one step.
class UnitFilter {
 public:
  void add(Unit unit) { bits_ |= std::uint64_t{1} << unit % 64; }
  bool mayHave(Unit unit) const { return (bits_ >> unit % 64 & 1) != 0; }

 private:
  std::uint64_t bits_ = 0;
};

class Staller {
 public:
  Staller(const FlatCode& code, bool isSerial)
      : code_(code), target_(code.target()), isSerial_(isSerial),
        horizon_(static_cast<std::int32_t>(std::max(target_.maxFixedLatency(), longestPipe(code)))),
        exits_(code.blocks.size()), isDue_(code.blocks.size(), true) {
    stalls_.after.assign(code.instrs.size(), 1);
    stalls_.before.assign(code.blocks.size(), 0);
  }

  Stalls run() {
    // A change at a block's end reaches its successors in the next iteration. Long chains settle in the first one,
    // because blocks are visited in layout order.
    for (bool again = true; again;) {
      again = false;
      for (std::uint32_t b = 0; b < code_.blocks.size(); ++b) {
        if (!isDue_[b]) continue; // its inputs have not changed
        isDue_[b] = false;
        again |= visit(b);
      }
    }
    return std::move(stalls_);
  }

 private:
  /// Whether the pipe is busy for so long that NOPs are needed before its next instruction (fp64 from sm_103 on). At
  /// -O0 every instruction waits for the result of the previous one.
  bool holdsPipe(const FlatInstr& f) const {
    return !isSerial_ && target_.pipe(f.latencyClass) != 0 &&
           target_.issueCycles(f.latencyClass) > 2 * target_.maxStall();
  }

  static unsigned longestPipe(const FlatCode& code) {
    unsigned longest = 0;
    for (const FlatInstr& f : code.instrs)
      longest = std::max(longest, code.target().issueCycles(f.latencyClass));
    return longest;
  }

  bool visit(std::uint32_t b) {
    const FlatBlock& block = code_.blocks[b];
    bool changed = false;
    State entry;
    for (std::uint32_t p : block.predecessors) {
      if (block.first != block.end) changed |= lengthen(p, b);
      entry = join(entry, exits_[p]);
    }
    State exit = walk(block, age(entry, static_cast<std::int32_t>(stalls_.before[b])), changed);
    if (!same(exit, exits_[b])) {
      exits_[b] = std::move(exit);
      becomeDue(code_.blocks[b].successors);
      changed = true;
    }
    return changed;
  }

  /// Extends the end of a predecessor so that the first instruction of `b` may follow.
  bool lengthen(std::uint32_t p, std::uint32_t b) {
    const FlatBlock& from = code_.blocks[p];
    const State state = age(exits_[p], static_cast<std::int32_t>(stalls_.before[b]));
    const std::int32_t wanted = earliest(code_.instrs[code_.blocks[b].first], state, 0);
    if (wanted <= 0) return false;
    // The last instruction of a block may be a branch, and no NOP can follow it.
    const unsigned room =
        from.first == from.end ? 0 : target_.maxStall() - std::min(target_.maxStall(), stalls_.after[from.end - 1]);
    const unsigned here = std::min(room, static_cast<unsigned>(wanted));
    if (here != 0) {
      stalls_.after[from.end - 1] += here;
      exits_[p] = age(exits_[p], static_cast<std::int32_t>(here));
      isDue_[p] = true;
      becomeDue(from.successors);
    }
    isDue_[b] = true;
    stalls_.before[b] += static_cast<unsigned>(wanted) - here;
    return true;
  }

  void becomeDue(const std::vector<std::uint32_t>& blocks) {
    for (std::uint32_t b : blocks)
      isDue_[b] = true;
  }

  State walk(const FlatBlock& block, State state, bool& changed) {
    std::int32_t now = 0;
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      const FlatInstr& f = code_.instrs[i];
      if (i != block.first) {
        unsigned& stall = stalls_.after[i - 1];
        const std::int32_t issue = earliest(f, state, now + static_cast<std::int32_t>(stall));
        const auto needed = static_cast<unsigned>(issue - now);
        changed |= needed > stall;
        stall = std::max(stall, needed);
        now += static_cast<std::int32_t>(stall);
      }
      unsigned& own = stalls_.after[i];
      own = std::max(own, leastStall(i, block.end));
      record(f, now, state);
    }
    if (block.first != block.end) now += static_cast<std::int32_t>(stalls_.after[block.end - 1]);
    return age(std::move(state), now);
  }

  /// The least stall after an instruction, regardless of the next one.
  unsigned leastStall(std::uint32_t index, std::uint32_t blockEnd) const {
    const FlatInstr& f = code_.instrs[index];
    unsigned least = std::max(1u, target_.minStall(f.latencyClass));
    const unsigned pipe = target_.pipe(f.latencyClass);
    // The first instruction of another block is assumed to use the same pipe.
    const bool competes = !holdsPipe(f) && (pipe == 0 || index + 1 == blockEnd ||
                                            target_.pipe(code_.instrs[index + 1].latencyClass) == pipe);
    if (competes && !isMemory(f))
      least = std::max(least, std::min(target_.issueCycles(f.latencyClass), target_.maxStall()));
    return least;
  }

  /// The queues of memory and special functions stall by themselves.
  bool isMemory(const FlatInstr& f) const {
    return target_.pipe(f.latencyClass) != 0 && target_.isScoreboarded(f.latencyClass);
  }

  /// The first cycle from `at` on in which the instruction may issue.
  std::int32_t earliest(const FlatInstr& f, const State& state, std::int32_t at) const {
    const std::uint8_t waits = f.instr->control.waitMask;
    UnitFilter named;
    for (const RegAccess& t : code_.touches(f))
      named.add(t.unit);
    std::int32_t issue = at;
    for (const Event& e : state) {
      unsigned distance = 0;
      if (e.unit >= kFirstPipe) {
        if (kFirstPipe + target_.pipe(f.latencyClass) == e.unit) distance = target_.issueCycles(e.access.latencyClass);
      } else if (e.unit >= kFirstScoreboard) {
        if ((waits >> (e.unit - kFirstScoreboard) & 1) != 0) distance = target_.scoreboardDelay();
      } else if (f.leaves || isSerial_) {
        // The next instruction there is unknown.
        if (e.isWrite) distance = longest(e);
      }
      if (e.unit < kFirstScoreboard && named.mayHave(e.unit))
        for (const RegAccess& t : code_.touches(f)) {
          if (t.unit != e.unit || (!e.isWrite && !t.isDef)) continue;
          const isa::File file = fileOf(t.unit);
          const isa::Latency latency = !e.isWrite ? target_.warLatency(file, e.access, t.access)
                                       : t.isDef  ? target_.wawLatency(file, e.access, t.access)
                                                  : target_.rawLatency(file, e.access, t.access);
          distance = std::max<unsigned>(distance, latency.cycles);
        }
      issue = std::max(issue, e.issued + static_cast<std::int32_t>(distance));
    }
    return issue;
  }

  /// The longest latency of any reader by any port. Looked up once for each kind of writer.
  unsigned longest(const Event& e) const {
    const isa::File file = fileOf(e.unit);
    unsigned& known = longest_[{file, e.access.latencyClass, e.access.port}];
    if (known == 0) known = longestOf(file, e.access);
    return known;
  }

  unsigned longestOf(isa::File file, isa::Access writer) const {
    using isa::LatencyClass;
    unsigned cycles = 0;
    for (LatencyClass reader :
         {LatencyClass::Alu, LatencyClass::Select, LatencyClass::Alu64, LatencyClass::Fma, LatencyClass::Fp64,
          LatencyClass::Hmma, LatencyClass::Load, LatencyClass::Branch, LatencyClass::Udp, LatencyClass::Uldc}) {
      // The uniform datapath does not read file R, and for unknown combinations the table returns the worst case.
      const bool isUniform = reader == LatencyClass::Udp || reader == LatencyClass::Uldc;
      if (isUniform && file == isa::File::R) continue;
      for (isa::Access::Port port : {isa::Access::Port::Main, isa::Access::Port::Guard})
        cycles = std::max<unsigned>(cycles, target_.rawLatency(file, writer, {reader, port}).cycles);
    }
    return cycles;
  }

  void record(const FlatInstr& f, std::int32_t now, State& state) const {
    UnitFilter written;
    for (const RegAccess& t : code_.touches(f))
      if (t.isDef && f.guard == 0 && fileOf(t.unit) != isa::File::B) written.add(t.unit);
    const auto isWritten = [&](const Event& e) {
      return written.mayHave(e.unit) &&
             std::ranges::any_of(code_.touches(f), [&](const RegAccess& t) { return t.isDef && t.unit == e.unit; });
    };
    std::erase_if(state, [&](const Event& e) { return now - e.issued >= horizon_ || isWritten(e); });
    for (const RegAccess& t : code_.touches(f))
      if (fileOf(t.unit) != isa::File::B && !t.isLate) put(state, {t.unit, t.isDef, t.access, now});
    if (holdsPipe(f))
      put(state, {static_cast<Unit>(kFirstPipe + target_.pipe(f.latencyClass)), true, {f.latencyClass}, now});
    const isa::Control& control = f.instr->control;
    for (std::uint8_t barrier : {control.writeBarrier, control.readBarrier})
      if (barrier != isa::Control::kNoBarrier)
        put(state, {static_cast<Unit>(kFirstScoreboard + barrier), true, {}, now});
  }

  static void put(State& state, const Event& event) {
    const auto same = std::ranges::find_if(state, [&](const Event& e) { return e.key() == event.key(); });
    if (same == state.end())
      state.push_back(event);
    else
      *same = event;
  }

  /// The state after `cycles`, sorted, without events in the past.
  State age(State state, std::int32_t cycles) const {
    for (Event& e : state)
      e.issued -= cycles;
    std::erase_if(state, [&](const Event& e) { return -e.issued >= horizon_; });
    std::sort(state.begin(), state.end(), [](const Event& x, const Event& y) { return x.key() < y.key(); });
    return state;
  }

  /// The union of both states, each event at its youngest.
  static State join(const State& a, const State& b) {
    State all;
    all.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
               [](const Event& x, const Event& y) { return x.key() < y.key(); });
    State joined;
    for (const Event& e : all) {
      if (!joined.empty() && joined.back().key() == e.key())
        joined.back().issued = std::max(joined.back().issued, e.issued);
      else
        joined.push_back(e);
    }
    return joined;
  }

  static bool same(const State& a, const State& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Event& x, const Event& y) { return x.key() == y.key() && x.issued == y.issued; });
  }

  const FlatCode& code_;
  const isa::Target& target_;
  const bool isSerial_;
  const std::int32_t horizon_;
  std::vector<State> exits_; // by block
  std::vector<bool> isDue_;  // by block: to be visited again
  Stalls stalls_;
  mutable std::map<std::tuple<isa::File, isa::LatencyClass, isa::Access::Port>, unsigned> longest_; // 0: unknown
};

} // namespace

Stalls computeStalls(const FlatCode& code, bool isSerial) {
  return Staller(code, isSerial).run();
}

} // namespace orias::phases

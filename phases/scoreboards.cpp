// Chooses scoreboards and wait masks: first half of phases 115 and 116.
//
// One walk over the blocks in layout order gives every instruction of variable latency the scoreboards that later
// instructions will wait for, and makes every instruction wait for pending accesses that it conflicts with. Accesses in
// flight at the end of a block are passed to its successors. The walk is repeated, with the scoreboards kept, until
// loops have seen what their backedges bring. Waits are only ever added, so this terminates.

#include "encoder/isa/settled_reads.h"
#include "phases/control_info.h"
#include "phases/memory_access.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <vector>

namespace orias::phases {

namespace {

constexpr std::uint8_t kNoScoreboard = isa::Control::kNoBarrier;
constexpr std::uint32_t kFar = ~0u;
constexpr std::uint8_t kDrainScoreboard = 5;

/// A pending read or write of a register by a queue.
struct Outstanding {
  Unit unit = 0;
  bool isWrite = false;
  std::uint32_t producer = 0;
  std::uint8_t cover = 0; ///< waiting for any of these scoreboards completes it

  auto key() const { return std::tuple(unit, producer, isWrite); }
};
using State = std::vector<Outstanding>; // sorted by key() at block boundaries

std::uint8_t bitOf(std::uint8_t scoreboard) {
  return scoreboard == kNoScoreboard ? 0 : static_cast<std::uint8_t>(1u << scoreboard);
}

class Assigner {
 public:
  Assigner(FlatCode& code, bool isSerial) : code_(code), target_(code.target()), isSerial_(isSerial) {}

  void run() {
    findGroups();
    findLaterTouches();
    expected_.assign(code_.blocks.size(), {});
    choose();
    if (isSerial_ || !hasBackEdges()) return;
    // Scoreboards are chosen in the first walk over a block, when the accesses in flight on its backedges are still
    // unknown. The second run knows them.
    choose();
  }

 private:
  /// Chooses waits and scoreboards of all instructions again. Records the accesses in flight on backedges.
  void choose() {
    for (FlatInstr& f : code_.instrs)
      f.instr->control = isa::Control{};
    findDrains();
    isFirstWalk_ = true;
    exits_.assign(code_.blocks.size(), {});
    expectedAtEntry_ = expected_;
    std::vector<State> entry(code_.blocks.size());
    std::vector<char> isDirty(code_.blocks.size(), 1);
    for (bool again = true; again;) {
      again = false;
      for (std::uint32_t b = 0; b < code_.blocks.size(); ++b) {
        if (!isDirty[b]) continue;
        isDirty[b] = 0;
        exits_[b] = walk(b, entry[b]);
        for (std::uint32_t s : code_.blocks[b].successors) {
          if (!join(entry[s], exits_[b]) || isDirty[s]) continue;
          isDirty[s] = 1;
          again |= s <= b;
        }
      }
      isFirstWalk_ = false;
      for (char dirty : isDirty)
        again |= dirty != 0;
    }
    for (std::uint32_t b = 0; b < code_.blocks.size(); ++b)
      expected_[b].clear();
    for (std::uint32_t b = 0; b < code_.blocks.size(); ++b)
      for (std::uint32_t s : code_.blocks[b].successors)
        if (s <= b) join(expected_[s], exits_[b]);
  }

  bool hasBackEdges() const {
    for (std::uint32_t b = 0; b < code_.blocks.size(); ++b)
      for (std::uint32_t s : code_.blocks[b].successors)
        if (s <= b) return true;
    return false;
  }

  // --- which instructions need a scoreboard
  // -----------------------------------------------------------------------------------------

  using Units = std::bitset<kUnitCount>;

  /// True if this added something.
  static bool unite(Units& into, const Units& more) {
    const bool isNew = (more & ~into).any();
    into |= more;
    return isNew;
  }

  /// For each block: which registers later blocks access, and which they write.
  void findLaterTouches() {
    const std::size_t count = code_.blocks.size();
    std::vector<Units> touched(count), written(count);
    laterTouched_.assign(count, {});
    laterWritten_.assign(count, {});
    for (std::size_t b = 0; b < count; ++b)
      for (std::uint32_t i = code_.blocks[b].first; i < code_.blocks[b].end; ++i)
        for (const RegAccess& t : code_.touches(code_.instrs[i])) {
          touched[b].set(t.unit);
          if (t.isDef) written[b].set(t.unit);
        }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = count; b-- > 0;)
        for (std::uint32_t s : code_.blocks[b].successors) {
          changed |= unite(laterTouched_[b], touched[s] | laterTouched_[s]);
          changed |= unite(laterWritten_[b], written[s] | laterWritten_[s]);
        }
    }
  }

  /// For each instruction of the block: the next one that touches its results, or writes its sources. kFar: none in
  /// this block; later*_ tells whether another block has one.
  void findNext(const FlatBlock& block) {
    blockWantsReads_ = false;
    nextTouch_.assign(block.end - block.first, kFar);
    nextWrite_.assign(block.end - block.first, kFar);
    nextSettling_.assign(block.end - block.first, kFar);
    std::uint32_t settling = kFar;
    std::vector<std::uint32_t>&touch = firstTouch_, &write = firstWrite_;
    touch.assign(kUnitCount, kFar);
    write.assign(kUnitCount, kFar);
    for (std::uint32_t i = block.end; i-- > block.first;) {
      const auto touches = code_.touches(code_.instrs[i]);
      std::uint32_t& firstTouch = nextTouch_[i - block.first];
      std::uint32_t& firstWrite = nextWrite_[i - block.first];
      nextSettling_[i - block.first] = settling;
      if (settles(i, isa::LatencyClass::Barrier)) settling = i;
      for (const RegAccess& t : touches) {
        if (t.isDef)
          firstTouch = std::min(firstTouch, touch[t.unit]);
        else if (t.isLate)
          firstWrite = std::min(firstWrite, write[t.unit]);
      }
      blockWantsReads_ |= firstWrite != kFar && firstWrite < firstTouch;
      for (const RegAccess& t : touches) {
        touch[t.unit] = i;
        if (t.isDef) write[t.unit] = i;
      }
    }
  }

  /// Convergence barriers are accessed in order, so they need no scoreboard (observed: ptxas gives none to BMOV.32 of a
  /// barrier, and nvdisasm for sm_87 rejects it).
  static bool isBarrier(const RegAccess& t) { return fileOf(t.unit) == isa::File::B; }

  /// Whether all late reads of earlier instructions of class `reader` are complete after this instruction.
  bool settles(std::uint32_t index, isa::LatencyClass reader) const {
    const ori::Instr& instr = *code_.instrs[index].instr;
    return isa::settlesReads(instr, instr.isGuarded(), reader, target_);
  }

  /// An atomic's predicate (whether it was executed) is ready when the operands have been read (encoder/hazard.cpp).
  static bool isEarlyResult(const FlatInstr& f, const RegAccess& t) {
    return t.isDef && f.latencyClass == isa::LatencyClass::Atomic && fileOf(t.unit) == isa::File::P;
  }

  /// Whether the instruction defines only such predicates.
  bool hasEarlyResult(const FlatInstr& f) const {
    return std::ranges::all_of(code_.touches(f),
                               [&](const RegAccess& t) { return !t.isDef || isBarrier(t) || isEarlyResult(f, t); });
  }

  void chooseScoreboards(std::uint32_t b, std::uint32_t index) {
    const FlatBlock& block = code_.blocks[b];
    FlatInstr& f = code_.instrs[index];
    if (!target_.isScoreboarded(f.latencyClass) || drains(f)) return;
    if (closesGroup(f)) {
      takeGroupScoreboard(f);
      return;
    }
    bool needsWrite = false, needsRead = false;
    const std::uint32_t touch = nextTouch_[index - block.first], write = nextWrite_[index - block.first];
    for (const RegAccess& t : code_.touches(f)) {
      if (t.isDef && t.unit != f.guard && !isBarrier(t)) needsWrite |= touch != kFar || laterTouched_[b].test(t.unit);
      if (!t.isDef && t.isLate) needsRead |= write != kFar || laterWritten_[b].test(t.unit);
    }
    const std::uint32_t settling = nextSettling_[index - block.first];
    if (settling < write && settles(settling, f.latencyClass)) needsRead = false;
    isa::Control& control = f.instr->control;
    if (needsWrite && hasEarlyResult(f)) {
      control.readBarrier = pick(index, std::min(touch, write), f.latencyClass, true);
      return;
    }
    // A wait for the result before the source is overwritten covers the read as well.
    if (needsWrite && touch < write) needsRead = false;
    if (needsWrite) control.writeBarrier = pick(index, touch, f.latencyClass, false);
    if (needsRead) control.readBarrier = pick(index, write, f.latencyClass, true, bitOf(control.writeBarrier));
  }

  /// Asynchronous copies signal by groups: the instruction that ends a group (LDGDEPBAR) uses the scoreboard of DEPBAR.
  /// No other instruction uses it, because DEPBAR counts.
  void findGroups() {
    for (const FlatInstr& f : code_.instrs) {
      const int slot =
          f.latencyClass == isa::LatencyClass::Depbar ? isa::desc(f.instr->op).slotIndex(isa::SlotId::sb) : -1;
      if (slot >= 0) groupScoreboard_ = static_cast<std::uint8_t>(f.instr->op_(static_cast<unsigned>(slot)).imm);
    }
  }
  /// The first instruction of a block from `i` on that may depend on a preceding fence, or the end of the block.
  std::uint32_t firstAfterFence(std::uint32_t i, std::uint32_t end) const {
    using isa::Flag;
    for (; i < end; ++i) {
      const isa::InstrDesc& row = isa::desc(code_.instrs[i].instr->op);
      for (const Flag flag : {Flag::Load, Flag::Store, Flag::Atomic, Flag::SideEffect, Flag::Fence, Flag::Volatile,
                              Flag::Branch, Flag::Terminator})
        if (row.has(flag)) return i;
      if (row.latencyClass == isa::LatencyClass::Gmma) return i;
    }
    return i;
  }

  /// Finds instructions that must be complete before later ones issue, independent of registers: after a fence the
  /// first instruction that may depend on it waits, otherwise the next one.
  void findDrains() {
    drainsBefore_.assign(code_.instrs.size(), false);
    isDraining_.assign(code_.instrs.size(), false);
    for (const FlatBlock& block : code_.blocks)
      for (std::uint32_t i = block.first; i < block.end; ++i) {
        FlatInstr& f = code_.instrs[i];
        const isa::InstrDesc& row = isa::desc(f.instr->op);
        const bool isFence = f.latencyClass == isa::LatencyClass::Fence;
        const std::uint32_t next = isFence ? firstAfterFence(i + 1, block.end) : i + 1;
        if (row.has(isa::Flag::DrainsWrites))
          f.instr->control.writeBarrier = kDrainScoreboard;
        else if (isFence && next < block.end && isa::desc(code_.instrs[next].instr->op).has(isa::Flag::DrainsWrites))
          f.instr->control.readBarrier = kDrainScoreboard;
        else
          continue;
        for (std::uint32_t between = i + 1; between < next; ++between)
          isDraining_[between] = true;
        if (next < block.end) {
          drainsBefore_[next] = true;
          continue;
        }
        for (std::uint32_t s : block.successors)
          drainsBefore_[code_.blocks[s].first] = true;
      }
  }
  bool drains(const FlatInstr& f) const {
    const isa::Control& control = f.instr->control;
    return control.writeBarrier == kDrainScoreboard || control.readBarrier == kDrainScoreboard;
  }
  bool closesGroup(const FlatInstr& f) const {
    const bool isCopy = f.latencyClass == isa::LatencyClass::AsyncCopy || f.latencyClass == isa::LatencyClass::Tma;
    return groupScoreboard_ != kNoScoreboard && isCopy && f.instr->operandCount == 0;
  }

  /// A group of bulk copies is complete when its sources have been read.
  void takeGroupScoreboard(FlatInstr& f) const {
    isa::Control& control = f.instr->control;
    (f.latencyClass == isa::LatencyClass::Tma ? control.readBarrier : control.writeBarrier) = groupScoreboard_;
  }

  /// A scoreboard for an instruction whose result, or whose sources, are needed at `wanted`. Prefers one whose other
  /// users are needed at the same place, then a free one, then the one that is needed last. Sources are read long
  /// before results arrive: results share scoreboards with results, and leave the last free one to sources.
  std::uint8_t pick(std::uint32_t index, std::uint32_t wanted, isa::LatencyClass latencyClass, bool isRead,
                    std::uint8_t not_ = 0) {
    constexpr std::uint32_t kNear = 4;
    std::uint8_t inUse = 0;
    for (const State* state : {&state_, &anticipated_})
      for (const Outstanding& o : *state)
        inUse |= o.cover;
    if (isDraining_[index]) inUse |= bitOf(kDrainScoreboard);
    unsigned freeCount = 0, readCount = 0, alikeCount = 0;
    for (unsigned s = 0; s < target_.scoreboardCount(); ++s) {
      if (s == groupScoreboard_) continue;
      const bool isFree = (inUse >> s & 1) == 0;
      freeCount += isFree;
      readCount += !isFree && users_[s].isRead;
      alikeCount += !isFree && !users_[s].isRead && users_[s].latencyClass == latencyClass;
    }
    const bool leavesLast = !isRead && blockWantsReads_ && freeCount == 1 && readCount == 0 && alikeCount != 0;
    int best = -1;
    std::uint64_t bestScore = 0;
    for (unsigned s = 0; s < target_.scoreboardCount(); ++s) {
      if ((not_ >> s & 1) != 0 || s == groupScoreboard_) continue;
      const User& user = users_[s];
      const bool isFree = (inUse >> s & 1) == 0;
      const bool isAlike = !isFree && user.latencyClass == latencyClass && user.isRead == isRead;
      const std::uint32_t distance = wanted > user.wanted ? wanted - user.wanted : user.wanted - wanted;
      std::uint64_t score = std::min(user.wanted, kFar - 1);
      if (isFree)
        score = leavesLast ? 0 : 4ull << 32;
      else if (isAlike && distance <= kNear)
        score = 5ull << 32;
      else if (isAlike)
        score += 2ull << 32;
      else if (user.isRead == isRead)
        score += 1ull << 32;
      // Rotation: a scoreboard that was just waited for is not reused at once.
      if (isFree && !leavesLast) score += index - std::min(index, user.last);
      if (best < 0 || score > bestScore) {
        best = static_cast<int>(s);
        bestScore = score;
      }
    }
    User& user = users_[best];
    user.wanted = (inUse >> best & 1) != 0 ? std::min(user.wanted, wanted) : wanted;
    // A wait for a mixed scoreboard waits for the result.
    user.isRead = isRead && ((inUse >> best & 1) == 0 || user.isRead);
    user.latencyClass = latencyClass;
    user.last = index;
    return static_cast<std::uint8_t>(best);
  }

  // --- the walk
  // -------------------------------------------------------------------------------------------------------

  State walk(std::uint32_t b, const State& entry) {
    state_ = entry;
    users_.fill({});
    const FlatBlock& block = code_.blocks[b];
    anticipated_.clear();
    if (isFirstWalk_) {
      findNext(block);
      anticipated_ = expectedAtEntry_[b];
      for (const Outstanding& o : anticipated_)
        noteUser(o);
    }
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      if (isFirstWalk_) chooseScoreboardsFor(b, i);
      step(i);
    }
    for (std::uint32_t s : block.successors)
      if (isFirstWalk_ && s > b) join(expectedAtEntry_[s], anticipated_);
    sortByKey(state_);
    return std::move(state_);
  }

  /// Tells pick() which scoreboards are in use at the start of a block.
  void noteUser(const Outstanding& o) {
    for (unsigned s = 0; s < target_.scoreboardCount(); ++s) {
      if ((o.cover >> s & 1) == 0) continue;
      User& user = users_[s];
      user.isRead = !o.isWrite && (user.latencyClass == isa::LatencyClass::None || user.isRead);
      user.latencyClass = code_.instrs[o.producer].latencyClass;
      user.wanted = std::min(user.wanted, o.isWrite ? firstTouch_[o.unit] : firstWrite_[o.unit]);
    }
  }

  /// Waits first: they may free a scoreboard for the instruction itself.
  void chooseScoreboardsFor(std::uint32_t b, std::uint32_t i) {
    place(i);
    if (isSerial_)
      chooseSerial(i);
    else
      chooseScoreboards(b, i);
  }

  void chooseSerial(std::uint32_t i) {
    FlatInstr& f = code_.instrs[i];
    if (!target_.isScoreboarded(f.latencyClass) || drains(f)) return;
    if (closesGroup(f)) takeGroupScoreboard(f);
    for (const RegAccess& t : code_.touches(f)) {
      if (isBarrier(t)) continue;
      if (t.isDef)
        f.instr->control.writeBarrier = 4;
      else if (t.isLate)
        f.instr->control.readBarrier = 5;
    }
  }

  /// Makes the instruction wait for pending accesses that it conflicts with.
  void place(std::uint32_t index) {
    FlatInstr& f = code_.instrs[index];
    isa::Control& control = f.instr->control;
    if (drainsBefore_[index]) control.waitMask |= bitOf(kDrainScoreboard);
    for (const RegAccess& t : code_.touches(f))
      for (Outstanding& o : state_) {
        if (o.unit != t.unit || !(o.isWrite || t.isDef || t.endsReads) || passesInOrder(o, t, f)) continue;
        if ((o.cover & control.waitMask) == 0) control.waitMask |= chooseCover(o);
      }
    if (endsAcquire(f))
      for (Outstanding& o : state_)
        if (o.isWrite && isOrdered(o) && (o.cover & control.waitMask) == 0) control.waitMask |= chooseCover(o);
    if (isNoticed(f))
      for (Outstanding& o : state_)
        if (o.isWrite && loadsTensor(o) && (o.cover & control.waitMask) == 0) control.waitMask |= chooseCover(o);
    if (f.instr->op == isa::Op::EXIT)
      for (Outstanding& o : state_)
        if (isReadBesideWarp(o) && (o.cover & control.waitMask) == 0) control.waitMask |= chooseCover(o);
    // After a call, or a return, other code runs that does not know our scoreboards.
    if (f.awaitsAll || isSerial_)
      for (Outstanding& o : state_)
        if ((o.cover & control.waitMask) == 0) control.waitMask |= chooseCover(o);
    std::uint8_t mask = control.waitMask;
    std::erase_if(state_, [&](const Outstanding& o) { return (o.cover & mask) != 0; });
    for (const RegAccess& t : code_.touches(f))
      for (const Outstanding& o : anticipated_)
        if (o.unit == t.unit && (o.isWrite || t.isDef || t.endsReads) && !passesInOrder(o, t, f)) mask |= o.cover;
    std::erase_if(anticipated_, [&](const Outstanding& o) { return (o.cover & mask) != 0; });
  }

  /// The units for copies and tensor memory read uniform registers asynchronously. The warp must not exit before those
  /// reads (observed: ptxas has EXIT wait for them).
  bool isReadBesideWarp(const Outstanding& o) const {
    return !o.isWrite && code_.instrs[o.producer].latencyClass == isa::LatencyClass::Tma;
  }

  /// CCTL.IVALL ends the load or atomic with acquire semantics before it. Cache lines fetched before that access is
  /// complete may be stale, so the invalidation waits for it (observed: ptxas).
  static bool endsAcquire(const FlatInstr& f) {
    return f.latencyClass == isa::LatencyClass::CacheControl && isa::desc(f.instr->op).has(isa::Flag::Fence);
  }
  bool isOrdered(const Outstanding& o) const { return accessOf(*code_.instrs[o.producer].instr).isOrdered; }

  /// tcgen05.wait::ld has no instruction: loads from tensor memory must be complete before anything visible to other
  /// threads or the units of tensor memory (observed: barriers and mbarriers wait for them). Weak stores become visible
  /// only by an instruction that orders them.
  bool loadsTensor(const Outstanding& o) const { return isTensorLoad(code_.instrs[o.producer]); }
  static bool isTensorLoad(const FlatInstr& f) { return f.latencyClass == isa::LatencyClass::TensorLoad; }
  static bool isNoticed(const FlatInstr& f) {
    const isa::InstrDesc& row = isa::desc(f.instr->op);
    if (row.has(isa::Flag::Atomic) || row.has(isa::Flag::Fence)) return !isTensorLoad(f);
    if (row.has(isa::Flag::Store)) return accessOf(*f.instr).isOrdered;
    return row.has(isa::Flag::SideEffect);
  }

  /// Units that work in order process both in that order.
  bool passesInOrder(const Outstanding& first, const RegAccess& second, const FlatInstr& f) const {
    if (!second.isDef || !second.isLate) return false;
    const isa::LatencyClass earlier = code_.instrs[first.producer].latencyClass;
    const unsigned queue = first.isWrite ? target_.completionQueue(earlier) : target_.readQueue(earlier);
    return queue != 0 &&
           queue == (first.isWrite ? target_.completionQueue(f.latencyClass) : target_.readQueue(f.latencyClass));
  }

  /// The scoreboard to wait for; the producer's own where it has one.
  std::uint8_t chooseCover(Outstanding& o) {
    isa::Control& control = code_.instrs[o.producer].instr->control;
    std::uint8_t own = bitOf(o.isWrite ? control.writeBarrier : control.readBarrier);
    if (!o.isWrite && own == 0) own = bitOf(control.writeBarrier);
    if (own == 0) own = static_cast<std::uint8_t>(o.cover & -o.cover);
    if (own == 0) {
      // No need was known when scoreboards were chosen.
      std::uint8_t& barrier = o.isWrite ? control.writeBarrier : control.readBarrier;
      barrier = static_cast<std::uint8_t>(target_.scoreboardCount() - 1);
      own = bitOf(barrier);
    }
    o.cover |= own;
    return own;
  }

  void step(std::uint32_t index) {
    if (!isFirstWalk_) place(index);
    const FlatInstr& f = code_.instrs[index];
    const isa::Control& control = f.instr->control;
    const std::uint8_t written = bitOf(control.writeBarrier), read = bitOf(control.readBarrier);
    for (const RegAccess& t : code_.touches(f)) {
      if (t.isDef && f.guard == 0)
        std::erase_if(state_, [&](const Outstanding& o) { return o.unit == t.unit && o.producer != index; });
    }
    const unsigned completes = target_.completionQueue(f.latencyClass), reads = target_.readQueue(f.latencyClass);
    if ((written | read) != 0 && (completes | reads) != 0)
      for (Outstanding& o : state_) {
        const isa::LatencyClass earlier = code_.instrs[o.producer].latencyClass;
        if (completes != 0 && completes == target_.completionQueue(earlier)) o.cover |= written;
        if (!o.isWrite && reads != 0 && reads == target_.readQueue(earlier)) o.cover |= written | read;
      }
    for (const RegAccess& t : code_.touches(f)) {
      if (!t.isLate || isBarrier(t)) continue;
      const bool isReadBarrierEnough = !t.isDef || isEarlyResult(f, t);
      Outstanding o{t.unit, t.isDef, index, static_cast<std::uint8_t>(isReadBarrierEnough ? written | read : written)};
      std::erase_if(state_, [&](const Outstanding& old) { return old.key() == o.key(); });
      state_.push_back(o);
    }
    for (State* state : {&state_, &anticipated_})
      std::erase_if(*state, [&](const Outstanding& o) {
        return !o.isWrite && settles(index, code_.instrs[o.producer].latencyClass);
      });
  }

  static void sortByKey(State& state) {
    std::ranges::sort(state, [](const Outstanding& x, const Outstanding& y) { return x.key() < y.key(); });
  }

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
        Outstanding both = *a++;
        const std::uint8_t cover = both.cover & (b++)->cover;
        changed |= cover != both.cover;
        both.cover = cover;
        merged.push_back(both);
      }
    }
    into = std::move(merged);
    return changed;
  }

  struct User {
    std::uint32_t wanted = kFar;
    std::uint32_t last = 0;
    isa::LatencyClass latencyClass = isa::LatencyClass::None;
    bool isRead = false; ///< all users signal that their sources have been read
  };

  FlatCode& code_;
  const isa::Target& target_;
  const bool isSerial_;
  bool isFirstWalk_ = true;
  bool blockWantsReads_ = false; // an instruction will wait for sources to be read
  std::uint8_t groupScoreboard_ = kNoScoreboard;
  std::vector<bool> drainsBefore_; // by instruction
  std::vector<bool> isDraining_;   // by instruction: a preceding fence may not be complete
  State state_;
  std::array<User, 8> users_{};
  std::vector<State> exits_;           // by block
  std::vector<State> expected_;        // by block: in flight on its backedges in the previous choice
  std::vector<State> expectedAtEntry_; // by block: those that are still in flight at its start
  State anticipated_;                  // and at the current instruction; for the choice of scoreboards only
  std::vector<std::uint32_t> firstTouch_, firstWrite_; // by register: the first access or write in the block
  std::vector<Units> laterTouched_, laterWritten_;     // by block
  std::vector<std::uint32_t> nextTouch_, nextWrite_;   // by instruction of the block
  std::vector<std::uint32_t> nextSettling_;            // by instruction of the block: the next that settles reads
};

} // namespace

void assignScoreboards(FlatCode& code, bool isSerial) {
  Assigner(code, isSerial).run();
}

} // namespace orias::phases

#include "regalloc/check.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/cfg.h"
#include "ori/analysis/convergence.h"
#include "ori/analysis/dominators.h"
#include "ori/calls.h"
#include "ori/module.h"
#include "ori/print.h"
#include "regalloc/branch_sides.h"
#include "regalloc/calls.h"
#include "regalloc/holdings.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <span>

namespace orias::regalloc {

using isa::File;
using ori::BlockId;
using ori::Instr;
using ori::Operand;

namespace {

constexpr std::size_t kMaxFaults = 20;
/// The operand of the LOP3 that reloads a packed predicate.
constexpr unsigned kBitMask = 3;

bool isWarpFile(File file) {
  return file == File::UR || file == File::UP || file == File::B;
}
bool namesVirtual(const isa::Operand& o) {
  return o.isVirtual() && o.reg != isa::Operand::kNoReg;
}
unsigned registersOf(const isa::Operand& o) {
  return o.isReg() ? o.width : 1; // a bindless constant uses one register, regardless of the width of its data
}

/// The state at the beginning of a block, for components that matter across blocks.
struct State {
  bool reached = false;
  std::vector<std::uint64_t> pairs; ///< (location, unit), sorted
  Bits mayHaveValue;                ///< by global number of the unit: in a lane that reaches the block
  Bits mayHaveInWarp;               ///< the same, or in lanes that ran before
};

std::uint64_t pairOf(Location l, Unit u) {
  return std::uint64_t{l} << 32 | u;
}

class Checker {
 public:
  Checker(const ori::Function& function, const Assignment& assignment)
      : function_(function), assignment_(assignment), cfg_(function), in_(function.blockIdCount()) {
    for (ori::VRegId v = 0; v < function.vregCount(); ++v) {
      firstUnit_.push_back(unitCount_);
      unitCount_ += function.vreg(v).width;
    }
    Location at = 0;
    for (File file : {File::R, File::P, File::UR, File::UP, File::B}) {
      fileBase_[static_cast<unsigned>(file)] = at;
      if (file == File::UR) warpBegin_ = at;
      at += function.module().target().registerCount(file);
    }
    warpEnd_ = at;
    for (const ori::FrameObject& object : function.frame) {
      objectBase_.push_back(at);
      if (object.isSpill) at += (object.size + 3) / 4;
    }
    locationCount_ = at;
    isPacked_ = std::ranges::any_of(assignment.spillMoves,
                                    [](const auto& entry) { return entry.second.kind == SpillMove::Kind::Pack; });
  }

  std::vector<std::string> run() {
    checkShapes();
    if (!faults_.empty()) return std::move(faults_);
    findGlobalUnits();
    const bool hasWarpValues = usesWarpValues();
    if (hasWarpValues) sides_ = branchSides(function_, cfg_);
    flow(false);
    if (!faults_.empty() && !sides_.empty()) {
      // These faults may be false: without a separate data flow, the end of a side also has what other paths bring
      // there.
      faults_.clear();
      in_.assign(function_.blockIdCount(), {});
      flow(true);
    }
    if (hasWarpValues && ori::mayYield(function_)) checkYields();
    gatherFaults();
    return std::move(faults_);
  }

 private:
  bool usesWarpValues() const {
    for (ori::VRegId v = 0; v < function_.vregCount(); ++v)
      if (isWarpFile(function_.vreg(v).file) && assignment_.physical[v] != kNowhere) return true;
    return false;
  }

  void fault(const Instr& instr, std::string text) {
    std::vector<std::string>& found = found_[instr.block->id];
    if (found.size() < kMaxFaults) found.push_back(fmt::format("{}: {}", ori::print(function_, instr), text));
  }
  /// Moves the faults found in blocks to `faults_`, in the order of the blocks.
  void gatherFaults() {
    if (found_.empty()) return;
    for (const BlockId b : cfg_.reversePostOrder())
      for (std::string& text : found_[b])
        if (faults_.size() < kMaxFaults) faults_.push_back(std::move(text));
    found_.clear();
  }

  void checkShapes() {
    for (ori::VRegId v = 0; v < function_.vregCount(); ++v) {
      const ori::VReg& reg = function_.vreg(v);
      const std::uint32_t p = assignment_.physical[v];
      if (p == kNowhere || faults_.size() >= kMaxFaults) continue;
      const unsigned limit = function_.module().target().registerCount(reg.file);
      if (p + reg.width > limit)
        faults_.push_back(fmt::format("virtual register {} in {}: beyond the end of its file", v, p));
      else if (p % reg.align != 0)
        faults_.push_back(fmt::format("virtual register {} in {}: not aligned to {}", v, p, reg.align));
    }
  }

  // --- values live across blocks

  /// A component whose references are all in one block, the first of them an unconditional definition, cannot carry a
  /// value into or out of it.
  void findGlobalUnits() {
    std::vector<BlockId> seenIn(unitCount_, ori::kNoId);
    std::vector<bool> global(unitCount_, false);
    auto see = [&](const Instr& instr, const Operand& o, bool startsValue) {
      for (unsigned i = 0; i < registersOf(o); ++i) {
        const Unit u = unitOf(o, i);
        if (seenIn[u] == ori::kNoId ? !startsValue : seenIn[u] != instr.block->id) global[u] = true;
        seenIn[u] = instr.block->id;
      }
    };
    for (const ori::Block* block : function_.layout())
      for (const Instr& instr : *block) {
        for (const Operand& o : instr.refs())
          if (namesVirtual(o) && !o.isDef) see(instr, o, false);
        // Spill code moves values that come from elsewhere.
        const bool startsValue = (!instr.isGuarded() || instr.hasUndefinedRest) && !spillMove(instr);
        for (const Operand& o : instr.refs())
          if (namesVirtual(o) && o.isDef) see(instr, o, startsValue);
        // The definition of a rematerialized value may be deleted: assume that it has a value from the beginning on.
        if (const SpillMove* move = spillMove(instr); move && move->kind == SpillMove::Kind::Remat)
          for (unsigned i = 0; i < instr.op_(move->reg).width; ++i)
            madeAnew_.push_back(unitOf(instr.op_(move->reg), i));
      }
    globalNumber_.assign(unitCount_, kNowhere);
    for (Unit u = 0; u < unitCount_; ++u)
      if (global[u]) globalNumber_[u] = globalCount_++;
    isGlobalOfWarp_ = Bits(globalCount_);
    for (Unit u = 0; u < unitCount_; ++u)
      if (global[u]) isGlobalOfWarp_.set(globalNumber_[u], isWarpUnit(u));
  }

  // --- lanes that have yielded

  /// After a YIELD lanes run in any order. If some of them read a uniform register there that was not written in the
  /// same block, no lane may overwrite it there with another value.
  void checkYields() {
    // Here a reloaded register is identified by itself: the register that it represents is used in several blocks
    // anyway.
    const auto ownUnit = [&](const Operand& o, unsigned i) { return firstUnit_[o.reg] + o.sub + i; };
    std::vector<BlockId> seenIn(unitCount_, ori::kNoId);
    std::vector<bool> isInSeveral(unitCount_);
    forWarpUnits(cfg_.reversePostOrder(), [&](const Instr& instr, const Operand& o, Location, unsigned i) {
      const Unit u = ownUnit(o, i);
      if (seenIn[u] != ori::kNoId && seenIn[u] != instr.block->id) isInSeveral[u] = true;
      seenIn[u] = instr.block->id;
    });
    for (const std::vector<BlockId>& blocks : ori::blocksAfterYields(cfg_, ori::DomTree::postDominators(cfg_))) {
      std::map<Location, Unit> read;
      forWarpUnits(blocks, [&](const Instr&, const Operand& o, Location l, unsigned i) {
        if (!o.isDef && isInSeveral[ownUnit(o, i)]) read.emplace(l, unitOf(o, i));
      });
      forWarpUnits(blocks, [&](const Instr& instr, const Operand& o, Location l, unsigned i) {
        if (!o.isDef || instr.op == isa::Op::CONV_ALLOC) return; // it writes nothing
        const auto found = read.find(l);
        if (found != read.end() && found->second != unitOf(o, i))
          fault(instr, fmt::format("overwrites virtual register {}, which lanes that have yielded still read",
                                   registerOf(found->second)));
      });
    }
  }

  template <typename Visit> void forWarpUnits(std::span<const BlockId> blocks, const Visit& visit) {
    for (BlockId b : blocks)
      for (const Instr& instr : *function_.block(b))
        for (const Operand& o : instr.refs())
          for (unsigned i = 0; namesVirtual(o) && isWarpFile(o.file) && hasPlace(o) && i < registersOf(o); ++i)
            visit(instr, o, locationOf(o, i), i);
  }

  // --- names

  const SpillMove* spillMove(const Instr& instr) const { return assignment_.spillMove(instr); }
  Unit unitOf(const isa::Operand& o, unsigned i) const {
    return firstUnit_[assignment_.standsFor[o.reg]] + assignment_.partOf[o.reg] + o.sub + i;
  }
  bool hasPlace(const isa::Operand& o) const { return assignment_.physical[o.reg] != kNowhere; }
  std::uint32_t numberOf(const isa::Operand& o, unsigned i) const {
    return (o.isVirtual() ? assignment_.physical[o.reg] + o.sub : o.reg) + i;
  }
  Location locationOf(const isa::Operand& o, unsigned i) const {
    return fileBase_[static_cast<unsigned>(o.file)] + numberOf(o, i);
  }

  // --- data flow

  /// Computes the state at the beginning of each block, and finds uses that see another value. `bySide`: the values
  /// that a side of a branch leaves in the registers of the warp are found by a separate data flow, which begins at the
  /// branch. A block is checked each time that its instructions are examined; the last time counts.
  void flow(bool bySide) {
    Holdings holdings(locationCount_, unitCount_, isPacked_);
    mayHaveValue_ = Bits(unitCount_);
    State& entry = in_[function_.entry()->id];
    entry.reached = true;
    entry.mayHaveValue = Bits(globalCount_);
    for (Unit u : madeAnew_)
      if (globalNumber_[u] != kNowhere) entry.mayHaveValue.set(globalNumber_[u], true);
    entry.mayHaveInWarp = entry.mayHaveValue;

    std::vector<const BranchSide*> all;
    for (const BranchSide& side : sides_)
      all.push_back(&side);
    std::vector<bool> dirty(function_.blockIdCount(), false);
    dirty[function_.entry()->id] = true;
    if (!bySide) {
      propagate(in_, dirty, cfg_.reversePostOrder(), warpEdges(all, function_.blockIdCount()), holdings, true);
    } else {
      const std::vector<std::vector<BlockId>> none(function_.blockIdCount());
      do
        propagate(in_, dirty, cfg_.reversePostOrder(), none, holdings, true);
      while (passSides(dirty, holdings));
    }
    gatherFaults();
  }

  /// Propagates states along the edges between `blocks` (in reverse post-order) until nothing changes, beginning with
  /// the dirty blocks. `report`: also checks these.
  void propagate(std::vector<State>& in, std::vector<bool>& dirty, std::span<const BlockId> blocks,
                 const std::vector<std::vector<BlockId>>& warpEdges, Holdings& holdings, bool report) {
    std::vector<bool> inside(function_.blockIdCount(), false);
    for (BlockId b : blocks)
      inside[b] = true;
    for (bool again = true; again;) {
      again = false;
      for (BlockId b : blocks) {
        if (!dirty[b] || !in[b].reached) continue;
        dirty[b] = false;
        if (report) found_.erase(b);
        const State out = after(in[b], b, holdings, report);
        auto pass = [&](BlockId to, bool warpOnly) {
          if (!inside[to]) return;
          if (warpOnly && !in[to].reached) {
            dirty[b] = again = true; // its branch comes later in this order
            return;
          }
          if (!meet(in[to], out, warpOnly)) return;
          dirty[to] = again = true;
        };
        for (BlockId s : cfg_.successors(b))
          pass(s, false);
        for (BlockId s : warpEdges[b])
          pass(s, true);
      }
    }
  }

  /// Propagates what each side of a branch leaves to the other sides of the branch. True if that changed something.
  bool passSides(std::vector<bool>& dirty, Holdings& holdings) {
    bool changed = false;
    std::vector<State> local(function_.blockIdCount());
    std::vector<bool> inside(function_.blockIdCount(), false);
    std::vector<bool> todo(function_.blockIdCount(), false);
    for (const BranchSide& side : sides_) {
      if (!in_[side.branch].reached) continue;
      for (BlockId b : side.blocks)
        inside[b] = true;
      std::vector<BlockId> blocks;
      std::ranges::copy_if(cfg_.reversePostOrder(), std::back_inserter(blocks), [&](BlockId b) { return inside[b]; });
      std::vector<const BranchSide*> inner;
      for (const BranchSide& s : sides_)
        if (inside[s.branch]) inner.push_back(&s);
      local[side.blocks.front()] = after(in_[side.branch], side.branch, holdings, false);
      todo[side.blocks.front()] = true;
      propagate(local, todo, blocks, warpEdges(inner, function_.blockIdCount()), holdings, false);
      for (BlockId end : side.ends) {
        if (!local[end].reached) continue;
        const State out = after(local[end], end, holdings, false);
        for (BlockId other : side.others)
          if (in_[other].reached && meet(in_[other], out, true)) dirty[other] = changed = true;
      }
      for (BlockId b : side.blocks) {
        inside[b] = todo[b] = false;
        local[b] = {};
      }
    }
    return changed;
  }

  /// The state at the end of a block.
  State after(const State& in, BlockId block, Holdings& holdings, bool report) {
    load(in, holdings);
    for (Instr& instr : *function_.block(block))
      step(instr, holdings, report);
    return store(holdings);
  }

  void load(const State& state, Holdings& holdings) {
    holdings.clearAll();
    elected_.clear();
    for (std::uint64_t pair : state.pairs)
      holdings.add(static_cast<Location>(pair >> 32), static_cast<Unit>(pair));
    globalMayHaveValue_ = state.mayHaveValue;
    globalMayHaveInWarp_ = state.mayHaveInWarp;
  }

  State store(const Holdings& holdings) const {
    State out;
    out.reached = true;
    holdings.forEach([&](Location l, Unit u) {
      if (globalNumber_[u] != kNowhere) out.pairs.push_back(pairOf(l, u));
    });
    if (!std::ranges::is_sorted(out.pairs)) std::ranges::sort(out.pairs);
    out.mayHaveValue = globalMayHaveValue_;
    out.mayHaveInWarp = globalMayHaveInWarp_;
    return out;
  }

  /// Intersects `into` with `from`; only for the registers of the warp if the edge is no edge for threads.
  bool meet(State& into, const State& from, bool warpOnly) const {
    if (!into.reached) {
      into = from;
      return true;
    }
    auto isOfWarp = [&](std::uint64_t pair) { return isWarpLocation(static_cast<Location>(pair >> 32)); };
    auto concerned = [&](std::uint64_t pair) { return !warpOnly || isOfWarp(pair); };
    auto mayHave = [&](const State& state, std::uint64_t pair) {
      return (isOfWarp(pair) ? state.mayHaveInWarp : state.mayHaveValue)[globalNumber_[static_cast<Unit>(pair)]];
    };
    std::vector<std::uint64_t> both;
    auto a = into.pairs.begin();
    auto b = from.pairs.begin();
    while (a != into.pairs.end() || b != from.pairs.end()) {
      if (b == from.pairs.end() || (a != into.pairs.end() && *a < *b)) {
        if (!concerned(*a) || !mayHave(from, *a)) both.push_back(*a);
        ++a;
      } else if (a == into.pairs.end() || *b < *a) {
        if (concerned(*b) && !mayHave(into, *b)) both.push_back(*b);
        ++b;
      } else {
        both.push_back(*a);
        ++a;
        ++b;
      }
    }
    bool changed = both != into.pairs;
    into.pairs = std::move(both);
    if (!warpOnly) changed |= into.mayHaveValue.add(from.mayHaveValue, nullptr);
    changed |= into.mayHaveInWarp.add(from.mayHaveInWarp, warpOnly ? &isGlobalOfWarp_ : nullptr);
    return changed;
  }

  ori::VRegId registerOf(Unit u) const {
    const auto behind = std::upper_bound(firstUnit_.begin(), firstUnit_.end(), u);
    return static_cast<ori::VRegId>(behind - firstUnit_.begin() - 1);
  }
  bool isWarpUnit(Unit u) const { return isWarpFile(function_.vreg(registerOf(u)).file); }

  bool isWarpLocation(Location l) const { return l >= warpBegin_ && l < warpEnd_; }
  bool mayHaveValue(Unit u) const {
    return globalNumber_[u] != kNowhere ? globalMayHaveInWarp_[globalNumber_[u]] : mayHaveValue_[u];
  }
  /// Whether a unit may have a value in a location: a register of the warp may have the value of lanes that ran before.
  bool mayHaveValue(Unit u, Location l) const {
    if (isWarpLocation(l) || globalNumber_[u] == kNowhere) return mayHaveValue(u);
    return globalMayHaveValue_[globalNumber_[u]];
  }
  void setMayHaveValue(Unit u, bool may) {
    if (globalNumber_[u] == kNowhere) return mayHaveValue_.set(u, may);
    globalMayHaveValue_.set(globalNumber_[u], may);
    globalMayHaveInWarp_.set(globalNumber_[u], may);
  }

  // --- one instruction

  void step(const Instr& instr, Holdings& holdings, bool report) {
    const SpillMove* move = spillMove(instr);
    if (report) {
      for (const Operand& o : instr.refs())
        if (namesVirtual(o) && !o.isDef) checkUse(instr, o, holdings);
      checkResults(instr);
      if (move) checkSpillCode(instr, *move);
    }
    if (move) {
      stepSpill(instr, *move, holdings);
      return;
    }
    const bool plainCopy = !instr.isGuarded() && copiesAsItIs(instr);
    if (ori::isCall(instr)) forgetAtCall(instr, holdings);
    copied_.clear();
    words_.clear();
    hasCopiedValue_.clear();
    if (plainCopy)
      for (unsigned i = 0; i < instr.op_(1).width; ++i) {
        copied_.push_back(hasPlace(instr.op_(1)) ? holdings.at(locationOf(instr.op_(1), i)) : std::vector<Unit>{});
        hasCopiedValue_.push_back(mayHaveValue(unitOf(instr.op_(1), i)));
        if (!hasPlace(instr.op_(1)) || !hasPlace(instr.op_(0))) continue;
        const Unit from = unitOf(instr.op_(1), i), to = unitOf(instr.op_(0), i);
        if (!holdings.holds(locationOf(instr.op_(1), i), from)) continue;
        for (const Location l : holdings.placesOf(from))
          if (l >= warpEnd_) words_.push_back({l, to});
      }

    for (const Operand& o : instr.refs()) {
      if (!o.isReg() || !o.isDef || o.isZeroReg()) continue;
      for (unsigned i = 0; i < o.width; ++i) {
        if (!o.isVirtual()) {
          holdings.clear(locationOf(o, i));
          continue;
        }
        const Unit u = unitOf(o, i);
        if (!hasPlace(o)) {
          holdings.forget(u);
          setMayHaveValue(u, true);
          continue;
        }
        const Location l = locationOf(o, i);
        const std::optional<Guard> guard = guardOf(instr);
        const bool hasOldValue = mayHaveValue(u) && !instr.hasUndefinedRest;
        if (instr.isGuarded() && hasOldValue && !runsForElectedLane(instr, o)) {
          defineUnder(guard, u, l, holdings);
          continue;
        }
        holdings.forget(u);
        if (!copiesItself(instr, i)) holdings.clear(l);
        if (plainCopy && i < copied_.size())
          for (Unit other : copied_[i])
            if (other != u) holdings.add(l, other);
        holdings.add(l, u);
        if (guard && !hasOldValue) holdings.addFact({kNowhere, u, guard->complement()});
        // A copy of an undefined value is undefined.
        setMayHaveValue(u, !plainCopy || hasCopiedValue_[i]);
      }
    }
    for (const auto& [word, unit] : words_)
      holdings.add(word, unit);
    noteElected(instr);
    for (const Operand& o : instr.refs())
      if (o.isReg() && o.isDef && namesVirtual(o) && (o.file == File::P || o.file == File::UP))
        holdings.forgetGuard(unitOf(o, 0));
  }

  /// Whether this is an unmodified copy between registers of one file.
  bool copiesAsItIs(const Instr& instr) const {
    if (instr.op != ori::Op::COPY) return false;
    const Operand &to = instr.op_(0), &from = instr.op_(1);
    return from.isReg() && namesVirtual(from) && namesVirtual(to) && to.file == from.file && !from.neg() &&
           !from.abs() && !from.inverted();
  }
  /// A guarded copy from a location to itself, which changes nothing in any lane.
  bool copiesItself(const Instr& instr, unsigned word) const {
    if (!instr.isGuarded() || !copiesAsItIs(instr)) return false;
    const Operand &to = instr.op_(0), &from = instr.op_(1);
    return word < from.width && hasPlace(to) && hasPlace(from) && locationOf(to, word) == locationOf(from, word);
  }

  /// The guard of an instruction; nothing if it is not in a register.
  std::optional<Guard> guardOf(const Instr& instr) const {
    if (!instr.isGuarded() || !namesVirtual(instr.guard())) return std::nullopt;
    return Guard{unitOf(instr.guard(), 0), instr.guard().inverted()};
  }

  /// A new value of u in l where the guard is true. Elsewhere the old one remains.
  void defineUnder(std::optional<Guard> guard, Unit u, Location l, Holdings& holdings) const {
    if (!guard) {
      const bool isComplete = holdings.holds(l, u);
      holdings.forget(u);
      holdings.clear(l);
      if (isComplete) holdings.add(l, u);
      return;
    }
    const bool isComplete = holdings.holdsUnder(l, u, guard->complement());
    std::vector<Fact> kept;
    // Lanes where the guard is false see what others have written to a register of the warp.
    const bool isOwnValue = !isWarpUnit(u);
    for (Location other : holdings.placesOf(u))
      if (other != l && isOwnValue) kept.push_back({other, u, guard->complement()});
    for (const Fact& f : holdings.facts())
      if (f.unit == u && (f.location == l || (isOwnValue && f.guard == guard->complement()))) kept.push_back(f);
    holdings.forget(u);
    holdings.clear(l);
    for (const Fact& f : kept)
      holdings.addFact(f);
    if (isComplete)
      holdings.add(l, u);
    else
      holdings.addFact({l, u, *guard});
  }

  /// ELECT has set the guard in one active lane earlier in the block, so a result in registers of the warp is certainly
  /// written.
  bool runsForElectedLane(const Instr& instr, const Operand& def) const {
    return isWarpFile(def.file) && namesVirtual(instr.guard()) && !instr.guard().inverted() &&
           has(elected_, unitOf(instr.guard(), 0));
  }

  void noteElected(const Instr& instr) {
    for (const Operand& o : instr.refs())
      if (o.isReg() && o.isDef && namesVirtual(o) && o.file == File::P) drop(elected_, unitOf(o, 0));
    const bool elects = instr.op == ori::Op::ELECT && !instr.isGuarded() && instr.op_(2).isZeroReg() &&
                        !instr.op_(2).inverted() && namesVirtual(instr.op_(0));
    if (elects) elected_.push_back(unitOf(instr.op_(0), 0));
  }

  /// The contents of registers that a callee may change are unknown.
  void forgetAtCall(const Instr& call, Holdings& holdings) const {
    const ori::RegisterSet changed = ori::changedAt(function_, call);
    for (File file : {File::R, File::P, File::UR, File::UP, File::B})
      for (std::uint32_t r = 0; r < function_.module().target().registerCount(file); ++r)
        if (changed.contains(file, r)) holdings.clear(fileBase_[static_cast<unsigned>(file)] + r);
  }

  /// The word of a spill slot that component i of a load or store accesses; kNowhere if there is none.
  Location wordOf(const Instr& instr, unsigned i) const {
    for (const Operand& o : instr.ops()) {
      if (o.kind != isa::Operand::Kind::Frame) continue;
      const ori::FrameObject& object = function_.frame[o.reg];
      const std::int64_t byte = std::int64_t{o.imm} + 4 * i;
      if (!object.isSpill || byte < 0 || byte % 4 != 0 || byte + 4 > object.size) return kNowhere;
      return objectBase_[o.reg] + static_cast<Location>(byte / 4);
    }
    return kNowhere;
  }

  /// `to` receives the contents of `from` where the guard is true. The bits of a register are known only if it is
  /// copied everywhere.
  void transferWord(std::optional<Guard> guard, bool isGuarded, Location to, Location from, Holdings& holdings) {
    transfer(guard, isGuarded, to, from, holdings);
    if (!holdings.hasBits() || isGuarded) return;
    for (Location bit = 0; bit < Holdings::kBits; ++bit)
      transfer({}, false, holdings.bitOf(to, bit), holdings.bitOf(from, bit), holdings);
  }

  /// Shifts the bits of a word up, and adds a predicate as bit 0.
  void pack(Location to, Location old, Location predicate, Holdings& holdings) {
    std::vector<std::vector<Unit>> bits;
    for (Location bit = 0; bit + 1 < Holdings::kBits; ++bit)
      bits.push_back(holdings.at(holdings.bitOf(old, bit)));
    const std::vector<Unit> added = holdings.at(predicate);
    holdings.clear(to);
    for (const Unit u : added)
      holdings.add(holdings.bitOf(to, 0), u);
    for (Location bit = 0; bit < bits.size(); ++bit)
      for (const Unit u : bits[bit])
        holdings.add(holdings.bitOf(to, bit + 1), u);
  }

  /// `to` receives the contents of `from` where the guard is true.
  void transfer(std::optional<Guard> guard, bool isGuarded, Location to, Location from, Holdings& holdings) {
    std::vector<Unit> units = holdings.at(from);
    std::vector<Fact> facts;
    for (const Fact& f : holdings.facts())
      if (f.location == from) facts.push_back({to, f.unit, f.guard});
    if (isGuarded) {
      std::vector<Unit> whole;
      std::vector<Fact> parts;
      auto addUnder = [&](Unit u) {
        if (guard && holdings.holdsUnder(to, u, guard->complement()))
          whole.push_back(u);
        else if (holdings.holds(to, u))
          whole.push_back(u); // both have the same value
        else if (guard)
          parts.push_back({to, u, *guard});
      };
      for (Unit u : units)
        addUnder(u);
      for (const Fact& f : facts)
        if (guard && f.guard == *guard) addUnder(f.unit);
      if (guard) {
        for (Unit u : holdings.at(to))
          parts.push_back({to, u, guard->complement()});
        for (const Fact& f : holdings.facts())
          if (f.location == to && f.guard == guard->complement()) parts.push_back(f);
      }
      units = std::move(whole);
      facts = std::move(parts);
    }
    holdings.clear(to);
    for (Unit u : units)
      holdings.add(to, u);
    for (const Fact& f : facts)
      holdings.addFact(f);
  }

  void stepSpill(const Instr& instr, const SpillMove& move, Holdings& holdings) {
    const Operand& reg = instr.op_(move.reg);
    if (!hasPlace(reg)) return;
    auto take = [&](Location to, Location from) {
      if (to != from) transferWord(guardOf(instr), instr.isGuarded(), to, from, holdings);
    };
    for (unsigned i = 0; i < reg.width; ++i) {
      const Location l = locationOf(reg, i);
      switch (move.kind) {
      case SpillMove::Kind::Store:
        if (const Location word = wordOf(instr, i); word != kNowhere) take(word, l);
        break;
      case SpillMove::Kind::Load:
        if (const Location word = wordOf(instr, i); word != kNowhere)
          take(l, word);
        else
          holdings.clear(l);
        break;
      case SpillMove::Kind::Move:
        if (!hasPlace(instr.op_(move.from)))
          holdings.clear(l);
        else if (move.bit == SpillMove::kWholeWord || !holdings.hasBits())
          take(l, locationOf(instr.op_(move.from), i));
        else if (reg.file == File::R) {
          take(l, locationOf(instr.op_(move.from), i));
          transfer({}, false, holdings.bitOf(l, move.bit), locationOf(instr.op_(move.from), i), holdings);
        } else
          transfer(guardOf(instr), instr.isGuarded(), l, holdings.bitOf(locationOf(instr.op_(move.from), i), move.bit),
                   holdings);
        break;
      case SpillMove::Kind::Pack:
        if (hasPlace(instr.op_(move.old)) && hasPlace(instr.op_(move.from)))
          pack(l, locationOf(instr.op_(move.old), i), locationOf(instr.op_(move.from), i), holdings);
        else
          holdings.clear(l);
        break;
      case SpillMove::Kind::Remat:
        holdings.clear(l);
        holdings.add(l, unitOf(reg, i));
        setMayHaveValue(unitOf(reg, i), true);
        break;
      }
    }
  }

  void checkUse(const Instr& instr, const Operand& o, const Holdings& holdings) {
    // The register that keeps a value of another file has no value of its own: its contents are checked at the result
    // of the move.
    const std::optional<Guard> guard = guardOf(instr);
    for (unsigned i = 0; i < registersOf(o); ++i) {
      const Unit u = unitOf(o, i);
      if (!(hasPlace(o) ? mayHaveValue(u, locationOf(o, i)) : mayHaveValue(u))) continue;
      if (!hasPlace(o)) return fault(instr, "reads a value that has no location");
      if (holdings.holds(locationOf(o, i), u)) continue;
      if (guard && &o != &instr.guard() && holdings.holdsUnder(locationOf(o, i), u, *guard)) continue;
      return fault(instr, fmt::format("register {} does not hold component {} of virtual register {}", numberOf(o, i),
                                      o.sub + i, o.reg));
    }
  }

  void checkResults(const Instr& instr) {
    std::vector<Location> results;
    for (const Operand& o : instr.refs()) {
      if (!o.isReg() || !o.isDef || o.isZeroReg() || (o.isVirtual() && !hasPlace(o))) continue;
      for (unsigned i = 0; i < o.width; ++i) {
        if (has(results, locationOf(o, i))) return fault(instr, "two results in one register");
        results.push_back(locationOf(o, i));
        if (o.isVirtual() && o.file == File::R && numberOf(o, i) == ori::kStackPointer &&
            (!function_.frame.empty() || function_.growsStack))
          return fault(instr, "overwrites the stack pointer");
        if (o.isVirtual() && o.file == File::R && numberOf(o, i) == ori::kFramePointer && function_.hasFramePointer)
          return fault(instr, "overwrites the frame pointer");
      }
    }
    if (isa::desc(instr.op).latencyClass == isa::LatencyClass::Gmma) checkProduct(instr, results);
  }

  /// The product of a warp group reads matrices and metadata while it writes. Its old sum may share the registers of
  /// the result.
  void checkProduct(const Instr& instr, const std::vector<Location>& results) {
    const int old = isa::desc(instr.op).slotIndex(isa::SlotId::Rc);
    for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
      const Operand& o = instr.op_(slot);
      if (o.isDef || static_cast<int>(slot) == old || !o.isReg(File::R) || !namesVirtual(o) || !hasPlace(o)) continue;
      for (unsigned i = 0; i < o.width; ++i)
        if (has(results, locationOf(o, i))) return fault(instr, "an operand of a wgmma in flight");
    }
  }

  void checkSpillCode(const Instr& instr, const SpillMove& move) {
    if (move.kind == SpillMove::Kind::Move && instr.op == isa::Op::LOP3 &&
        instr.op_(kBitMask).imm != static_cast<std::int32_t>(1u << move.bit))
      return fault(instr, "does not test its bit");
    if (move.kind != SpillMove::Kind::Store && move.kind != SpillMove::Kind::Load) return;
    const unsigned width = instr.op_(move.reg).width;
    for (unsigned i = 0; i < width; ++i)
      if (wordOf(instr, i) == kNowhere) return fault(instr, "spill code outside its stack slot");
    for (const Operand& o : instr.ops())
      if (o.kind == isa::Operand::Kind::Frame &&
          (o.imm % (4 * static_cast<std::int32_t>(width)) != 0 || function_.frame[o.reg].align % (4 * width) != 0))
        return fault(instr, "spill code not aligned to its width");
  }

  const ori::Function& function_;
  const Assignment& assignment_;
  ori::Cfg cfg_;
  std::vector<State> in_; // by block
  std::vector<Unit> firstUnit_;
  Unit unitCount_ = 0;
  std::vector<Unit> madeAnew_;
  std::uint32_t globalCount_ = 0;
  std::vector<std::uint32_t> globalNumber_; // by unit
  Bits isGlobalOfWarp_;                     // by global number
  // State at the current instruction: by global number; for other units, by unit.
  Bits globalMayHaveValue_, globalMayHaveInWarp_, mayHaveValue_;
  std::vector<BranchSide> sides_;
  std::vector<std::vector<Unit>> copied_;        // scratch
  std::vector<bool> hasCopiedValue_;             // scratch
  std::vector<std::pair<Location, Unit>> words_; // scratch: of spill slots, with the values that a copy adds to them
  std::vector<Unit> elected_;                    // predicates that hold in one active lane
  Location fileBase_[isa::kFileCount] = {};
  Location warpBegin_ = 0, warpEnd_ = 0;
  std::vector<Location> objectBase_; // by frame object
  Location locationCount_ = 0;
  bool isPacked_ = false; ///< predicates share registers
  std::vector<std::string> faults_;
  std::map<BlockId, std::vector<std::string>> found_; ///< faults that are not yet in faults_
};

} // namespace

std::vector<std::string> check(const ori::Function& function, const Assignment& assignment) {
  return Checker(function, assignment).run();
}

} // namespace orias::regalloc

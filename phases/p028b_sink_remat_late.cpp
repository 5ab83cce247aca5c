#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "ori/analysis/analyses.h"
#include "phases/occupancy.h"
#include "phases/optimize/phis.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace orias::phases {

using isa::File;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::VRegId;

namespace {

/// Issue slots saved on the other paths that are worth one cycle of waiting for the values.
constexpr double kSlotsPerCycle = 1.0;

/// Instructions of one block that can be computed after one way out of it, in block order.
struct Chain {
  std::vector<Instr*> instrs;
  BlockId to = ori::kNoId;
};

/// When values arrive, counted from the beginning of a block.
using Times = std::map<VRegId, unsigned>;

class ChainSinker {
 public:
  ChainSinker(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()) {}

  bool run() {
    bool changed = false;
    // Top down: instructions that sank into a block may sink further from there.
    for (BlockId id : cfg_.reversePostOrder())
      for (BlockId to : waysOut(id))
        changed |= sink(*function_.block(id), to);
    return changed;
  }

 private:
  /// Blocks that are reached from this one only, by some of the lanes or on some executions.
  std::vector<BlockId> waysOut(BlockId id) const {
    const Block& block = *function_.block(id);
    const auto next = cfg_.successors(id);
    const bool leaves = block.last && block.last->op == isa::Op::EXIT && block.last->isGuarded();
    std::vector<BlockId> ways;
    if (!leaves && next.size() < 2) return ways;
    for (BlockId to : next)
      if (cfg_.predecessors(to).size() == 1 && to != id && loops_.depth(to) <= loops_.depth(id)) ways.push_back(to);
    return ways;
  }

  bool sink(Block& from, BlockId to) {
    Chain all{movable(from, to), to};
    if (all.instrs.empty()) return false;
    if (!liveness_) measure();
    if (isWorth(from, all)) return move(from, all);
    bool changed = false;
    const std::vector<Chain> parts = partsOf(all);
    for (const Chain& part : parts) {
      if (parts.size() > 1 && isWorth(from, part)) {
        changed |= move(from, part);
      } else if (const Chain late = lateOf(from, part);
                 !late.instrs.empty() && late.instrs.size() < part.instrs.size() && isWorth(from, late)) {
        changed |= move(from, late);
      }
    }
    return changed;
  }

  // --- what can move

  /// All instructions whose results are read only from `to` on, or by others of them.
  std::vector<Instr*> movable(const Block& from, BlockId to) const {
    std::set<const Instr*> members;
    std::vector<Instr*> found;
    for (Instr* instr = from.last; instr; instr = instr->prev)
      if (mayMove(*instr, from, to)) {
        members.insert(instr);
        found.push_back(instr);
      }
    for (bool isStable = false; !isStable;) {
      isStable = true;
      std::erase_if(found, [&](Instr* instr) {
        if (isReadAfter(*instr, members, to)) return false;
        members.erase(instr);
        isStable = false;
        return true;
      });
    }
    std::ranges::reverse(found);
    return found;
  }

  const ori::Divergence& divergence() const {
    if (!divergence_) divergence_ = &function_.analyses().divergence();
    return *divergence_;
  }

  bool mayMove(const Instr& instr, const Block& from, BlockId to) const {
    if (speculationOf(function_, instr) != Speculation::Free || readsUniformOfLoop(function_, loops_, instr))
      return false;
    bool hasResult = false, isUniform = divergence().isUniformBlock(from.id) && !divergence().isUniformBlock(to);
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isReg()) continue;
      if (o.isVirtual() ? function_.vreg(o.reg).multiDef : !o.isZeroReg()) return false;
      if (!o.isDef || !o.isVirtual()) continue;
      hasResult = true;
      isUniform = isUniform && !divergence().isDivergent(o.reg);
    }
    return hasResult && !isUniform; // values that the warp may compute once (phase 74) are not moved from where it can
  }

  bool isReadAfter(const Instr& instr, const std::set<const Instr*>& members, BlockId to) const {
    bool isRead = false, areAllAfter = true;
    for (const ori::Operand& result : instr.ops()) {
      if (!result.isDef || !result.isVirtual()) continue;
      for (const ori::Ref o : function_.refs(result.reg)) {
        if (!areAllAfter) break;
        const bool isOther = o->sub >= result.sub + result.width || result.sub >= o->sub + o->width;
        if (isOther) continue; // the other half of a pair
        areAllAfter = members.contains(o.owner) || (!o->isDef && dominators_.dominates(to, placeOf(o)));
        isRead |= !o->isDef;
      }
    }
    return isRead && areAllAfter;
  }

  /// Splits a chain into parts that share no value.
  std::vector<Chain> partsOf(const Chain& all) const {
    std::map<const Instr*, std::size_t> part;
    for (std::size_t i = 0; i < all.instrs.size(); ++i)
      part[all.instrs[i]] = i;
    for (bool isStable = false; !isStable;) {
      isStable = true;
      for (const Instr* instr : all.instrs)
        for (const ori::Operand& o : instr->ops()) {
          if (!o.isVirtual()) continue;
          for (const ori::Ref other : function_.refs(o.reg)) {
            const auto found = part.find(other.owner);
            if (!(o.isDef || other->isDef) || found == part.end() || found->second == part[instr]) continue;
            part[instr] = found->second = std::min(found->second, part[instr]);
            isStable = false;
          }
        }
    }
    std::map<std::size_t, Chain> parts;
    for (Instr* instr : all.instrs) {
      Chain& chain = parts[part[instr]];
      chain.instrs.push_back(instr);
      chain.to = all.to;
    }
    std::vector<Chain> result;
    for (auto& [first, chain] : parts)
      result.push_back(std::move(chain));
    return result;
  }

  /// The part of a chain whose operands arrive after the branch is decided. Computing it before the branch delays the
  /// branch, and makes no value available earlier. Its operands, such as loads, are in flight while the branch is
  /// decided.
  Chain lateOf(const Block& from, const Chain& chain) const {
    Times ready;
    std::map<const Instr*, unsigned> starts;
    for (const Instr& instr : from) {
      const unsigned start = starts[&instr] = startOf(instr, ready);
      arrive(instr, start, ready);
    }
    const unsigned decided = starts[from.last];
    Chain late{{}, chain.to};
    std::ranges::copy_if(chain.instrs, std::back_inserter(late.instrs),
                         [&](const Instr* instr) { return starts[instr] >= decided; });
    return late;
  }

  // --- gain

  void measure() {
    liveness_ = function_.analyses().liveness();
    pressure_ = function_.analyses().pressure();
    classes_.emplace(function_, context_);
  }

  bool isWorth(const Block& from, const Chain& chain) const {
    const std::set<const Instr*> members(chain.instrs.begin(), chain.instrs.end());
    if (!hasRegisters(from, chain, members)) return false;
    if (loops_.depth(chain.to) < loops_.depth(from.id)) return true;
    Times ready;
    unsigned slots = 0, moved = 0;
    unsigned started = 0, startedOthers = 0; // when the last instruction has its operands; the same without the chain
    for (const Instr& instr : from) {
      if (&instr == from.last) break;
      const unsigned start = startOf(instr, ready);
      slots += issueSlots(context_.target, instr);
      started = std::max(started, start);
      if (members.contains(&instr))
        moved += issueSlots(context_.target, instr);
      else
        startedOthers = std::max(startedOthers, start);
      arrive(instr, start, ready);
    }
    // Instructions issue in order: the branch waits for the operands of those before it.
    const unsigned decided = startOf(*from.last, ready);
    const unsigned before = std::max({decided, slots, started});
    const unsigned after = std::max({decided, slots - moved, startedOthers});
    // After the branch: `above` with the values computed before it, `below` with the chain computed in the target.
    Times above, below;
    for (const auto& [reg, time] : ready) {
      above[reg] = time - std::min(time, before);
      below[reg] = time - std::min(time, after);
    }
    for (const Instr* instr : chain.instrs)
      arrive(*instr, startOf(*instr, below), below);
    const std::vector<BlockId> path = pathOf(chain);
    const unsigned stay = before + lengthOf(path, above, 0), wait = after + lengthOf(path, below, moved);
    if (wait <= stay || moved >= kSlotsPerCycle * (wait - stay)) return true;
    // The other successor of a branch begins earlier.
    return from.last->op == isa::Op::BRA && before - after >= wait - stay;
  }

  /// The time at which the last operand of an instruction is ready.
  static unsigned startOf(const Instr& instr, const Times& ready) {
    unsigned start = 0;
    const auto wait = [&](const ori::Operand& o) {
      if (o.isDef || !o.isVirtual()) return;
      if (const auto found = ready.find(o.reg); found != ready.end()) start = std::max(start, found->second);
    };
    for (const ori::Operand& o : instr.ops())
      wait(o);
    wait(instr.guard());
    return start;
  }

  void arrive(const Instr& instr, unsigned start, Times& ready) const {
    const unsigned latency = context_.target.expectedLatency(isa::latencyClassOf(instr.op, instr.mods));
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isVirtual()) ready[o.reg] = std::max(ready[o.reg], start + latency);
  }

  /// The chain's target block, followed by the next block if the first does not read the chain, such as a loop after
  /// its preheader. A single instruction, mostly a constant, is hidden by the others of its block.
  std::vector<BlockId> pathOf(const Chain& chain) const {
    if (chain.instrs.size() == 1) return {chain.to};
    std::set<BlockId> readers;
    for (const Instr* instr : chain.instrs)
      for (const ori::Operand& result : instr->ops()) {
        if (!result.isDef || !result.isVirtual()) continue;
        for (const ori::Ref o : function_.refs(result.reg))
          if (!o->isDef) readers.insert(placeOf(o));
      }
    std::vector<BlockId> path{chain.to};
    if (readers.contains(chain.to)) return path;
    const auto next = std::ranges::find_if(cfg_.successors(chain.to), [&](BlockId id) { return readers.contains(id); });
    if (next != cfg_.successors(chain.to).end()) path.push_back(*next);
    return path;
  }

  /// Cycles until the last instruction of these blocks issues, with `taken` issue slots used before.
  unsigned lengthOf(const std::vector<BlockId>& path, Times ready, unsigned taken) const {
    unsigned last = 0;
    for (BlockId id : path)
      for (const Instr& instr : *function_.block(id)) {
        if (instr.op == isa::Op::PHI) continue;
        const unsigned start = startOf(instr, ready);
        taken += issueSlots(context_.target, instr);
        last = std::max(last, start);
        arrive(instr, start, ready);
      }
    return std::max(last, taken);
  }

  /// Whether the chain's operands take no more registers on the way than its results, or none that cost warps.
  bool hasRegisters(const Block& from, const Chain& chain, const std::set<const Instr*>& members) const {
    const ori::Components& components = liveness_->components();
    std::set<ori::CompId> read, made;
    for (const Instr* instr : chain.instrs)
      for (const ori::Operand& o : instr->ops()) {
        if (!o.isVirtual() || o.file != File::R) continue;
        bool isInner = true;
        for (const ori::Ref other : function_.refs(o.reg))
          if (o.isDef != other->isDef) isInner = isInner && members.contains(other.owner);
        if (isInner) continue;
        for (unsigned i = 0; i < o.width; ++i) {
          const ori::CompId part = components.of(o.reg, o.sub + i);
          if (o.isDef)
            made.insert(part);
          else if (!liveness_->isLiveIn(chain.to, part))
            read.insert(part);
        }
      }
    if (read.size() <= made.size()) return true;
    const auto file = static_cast<std::size_t>(File::R);
    const unsigned most = pressure_->maximum()[file], more = static_cast<unsigned>(read.size() - made.size());
    const unsigned here = std::max(pressure_->inBlock(from.id)[file], pressure_->inBlock(chain.to)[file]) + more;
    return here <= most || here <= classes_->end(most);
  }

  // --- transformation

  bool move(const Block& from, const Chain& chain) {
    Block* to = function_.block(chain.to);
    Instr* first = afterPhis(*to);
    std::vector<VRegId> changed;
    for (Instr* instr : chain.instrs) {
      for (const ori::Operand& o : instr->ops())
        if (o.isVirtual()) changed.push_back(o.reg);
      context_.remarks.applied(instr, fmt::format("sank {} past {}", isa::desc(instr->op).mnemonic,
                                                  from.last->op == isa::Op::EXIT ? "an exit" : "a branch"));
      function_.unlink(instr);
      if (first)
        function_.insertBefore(first, instr);
      else
        function_.append(to, instr);
    }
    std::vector<BlockId> crossed;
    for (const ori::LiveChange& change : liveness_->update(changed))
      crossed.push_back(change.block);
    pressure_->rescan(*liveness_, crossed);
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  mutable const ori::Divergence* divergence_ = nullptr; ///< of the original code
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  std::optional<ori::Liveness> liveness_; ///< set once something can move
  std::optional<ori::RegisterPressure> pressure_;
  std::optional<OccupancyClasses> classes_;
};

} // namespace

/// Phase 28b. Sinks chains of instructions whose results are read only after one way out of a block: after an exit of
/// some lanes, into an arm of a branch, out of a loop. A chain sinks where the other path saves more issue slots than
/// this one waits longer, by the longest paths of both blocks. Also, its operands must take no more registers than its
/// results, or none that cost warps. If sinking the whole chain would cost too much time below, the part that starts
/// later than the branch sinks. Phase 28 has moved single instructions, before branches became selects. Knob
/// SinkRematEnable: 0 disables the phase.
bool sinkRematLate(ori::Function& function, PhaseContext& context) {
  return context.knobs.enabled(Knob::SinkRematEnable) && ChainSinker(function, context).run();
}

} // namespace orias::phases

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/branch_walk.h"
#include "phases/loop_entry.h"
#include "phases/memory_access.h"
#include "phases/occupancy.h"
#include "phases/optimize/rewriter.h"
#include "phases/phases.h"
#include "phases/removable.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Operand;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

namespace {

/// Nests deeper than this keep the invariants of their outermost loops.
constexpr std::uint32_t kMostLevels = 8;
/// What needs more instructions than this stays: each invariant is looked at with all that it needs.
constexpr std::size_t kLongestChain = 64;
/// Loads stay in loops that store in more places than this: each load is compared with each of them.
constexpr std::size_t kMostStores = 32;

/// What the two phases move.
enum class Hoist {
  Loads,     ///< loads, with what their addresses need
  Arithmetic ///< all that computes from its operands alone
};

/// How the memory that a loop reads may change while it runs.
struct LoopMemory {
  std::vector<MemoryAccess> stores;
  /// Other threads' stores may come in between, or unknown code runs.
  bool isOrdered = false;
  bool mayHaveWriters = false; ///< even of what is read only: what runs waits for another kernel, or is not known
};

/// Computes from its operands alone, the same each time, for each lane by itself, and cannot fault: it may run where it
/// did not run before.
bool isPure(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (Flag flag : {Flag::Load, Flag::Volatile, Flag::Convergent, Flag::Uniform, Flag::UniformGuard, Flag::Variadic,
                    Flag::Varying, Flag::WarpWide})
    if (row.has(flag)) return false;
  for (unsigned i = 0; i < row.slotCount; ++i)
    if (row.texts[i].style == isa::Style::SpecialReg) return false;
  return !instr.isGuarded() && isRemovable(instr) && instr.op != isa::Op::UNDEF && instr.op != isa::Op::PHI;
}

/// Reads memory as a program does that knows of no other threads, and does nothing else.
bool isWeakLoad(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (!row.has(Flag::Load) || instr.isGuarded() || !isRemovable(instr)) return false;
  for (Flag flag : {Flag::Volatile, Flag::Convergent, Flag::Uniform, Flag::UniformGuard, Flag::Variadic})
    if (row.has(flag)) return false;
  const MemoryAccess access = accessOf(instr);
  return access.isExact && !access.isOrdered;
}

/// The loops of one depth: what is to move out of which, decided before anything moves.
class Level {
 public:
  Level(ori::Function& function, PhaseContext& context, Hoist what)
      : function_(function), context_(context), what_(what), rewriter_(function), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()) {}

  /// True when something moved: the snapshots are out of date then.
  bool hoist(std::uint32_t depth) {
    std::vector<Move> moves;
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop)
      if (loops_.loop(loop).depth == depth) plan(loop, moves);
    for (const Move& move : moves)
      apply(move);
    return !moves.empty();
  }

 private:
  struct Move {
    BlockId from, header; ///< the only edge into the loop
    std::vector<Instr*> instrs;
  };

  void plan(LoopId loop, std::vector<Move>& moves) {
    invariants_.clear();
    order_.clear();
    if (what_ == Hoist::Loads) memory_ = memoryOf(loop);
    for (BlockId id : loops_.blocks(loop))
      for (Instr& instr : *function_.block(id))
        if (isInvariant(loop, instr)) {
          invariants_[&instr] = false;
          order_.push_back(&instr);
        }
    if (order_.empty()) return;
    const BlockId header = loops_.loop(loop).header;
    const BlockId from = onlyEntry(loops_, cfg_, loop);
    if (from == ori::kNoId) {
      context_.remarks.refused(function_.block(header)->first, "not hoisted: the loop has several entries");
      return;
    }

    // Each result that the loop goes on reading keeps a register throughout. Those first that bring the most with them.
    struct Root {
      Instr* instr;
      std::vector<Instr*> chain;
    };
    std::vector<Root> roots;
    for (Instr* instr : order_)
      if (what_ == Hoist::Loads ? isWeakLoad(*instr) : isReadByRest(*instr)) roots.push_back({instr, chainOf(instr)});
    std::stable_sort(roots.begin(), roots.end(),
                     [&](const Root& a, const Root& b) { return work(a.chain) > work(b.chain); });
    constexpr auto kR = static_cast<unsigned>(File::R);
    if (!roots.empty() && !pressure_) {
      pressure_ = &function_.analyses().pressure();
      limit_ = registersUpToCliff(function_, pressure_->maximum()[kR], context_);
    }
    unsigned used = 0;
    for (BlockId id : loops_.blocks(loop))
      if (pressure_) used = std::max(used, pressure_->inBlock(id)[kR]);
    for (const Root& root : roots) {
      if (work(root.chain) == 0 || root.chain.size() > kLongestChain) continue;
      unsigned width = 0;
      for (const Instr* instr : root.chain)
        if (!invariants_[instr] && isReadByRest(*instr)) width += widthOf(*instr);
      if (const char* why = whyNot(loop, *root.instr, used + width)) {
        context_.remarks.refused(root.instr, why);
        continue;
      }
      if (used + width > limit_) {
        context_.remarks.refused(root.instr, "not hoisted: register pressure is too high", width);
        continue;
      }
      used += width;
      for (const Instr* instr : root.chain)
        invariants_[instr] = true;
    }
    Move move{from, header, {}};
    for (Instr* instr : order_)
      if (invariants_[instr]) move.instrs.push_back(instr);
    if (!move.instrs.empty()) moves.push_back(std::move(move));
  }

  void apply(const Move& move) {
    ori::Block* from = function_.block(move.from);
    ori::Block* header = function_.block(move.header);
    ori::Block* front = cfg_.successors(move.from).size() == 1 ? from : ori::splitEdge(function_, from, header);
    for (Instr* instr : move.instrs) {
      context_.remarks.did(instr, "hoisted out of the loop", 1);
      moveToEnd(function_, *instr, *front);
    }
  }

  /// All operands are the same in each round: constants, what is defined outside, or invariants seen before.
  bool isInvariant(LoopId loop, const Instr& instr) const {
    const bool isLoad = what_ == Hoist::Loads && isWeakLoad(instr);
    if (!isPure(instr) && !isLoad) return false;
    bool hasResult = false;
    for (const ori::Operand& o : instr.ops()) {
      if (o.isDef) {
        if (!o.isReg() || o.isZeroReg()) continue;
        // There are seven predicates: they are not kept across loops.
        if (!o.isVirtual() || o.file != File::R || !rewriter_.isSingle(o.reg)) return false;
        hasResult = true;
        continue;
      }
      if (o.isConst() && o.reg != Operand::kNoReg) return false;
      if (o.isReg() && !o.isZeroReg() && !comesFromOutside(loop, o)) return false;
    }
    if (hasResult && isLoad && !keepsItsValue(instr)) {
      context_.remarks.refused(&instr, memory_.isOrdered || memory_.mayHaveWriters
                                           ? "load not hoisted: other threads may store to its address"
                                           : "load not hoisted: the loop may store to its address");
      return false;
    }
    return hasResult;
  }

  bool comesFromOutside(LoopId loop, const Operand& o) const {
    if (!rewriter_.isStable(o)) return false;
    for (unsigned k = 0; k < o.width; ++k) {
      const Definition def = rewriter_.definition(o, k);
      if (!def) return false;
      if (loops_.contains(loop, def.instr->block->id) && !invariants_.count(def.instr)) return false;
    }
    return true;
  }

  /// Why an invariant stays where it is; null when it may go.
  const char* whyNot(LoopId loop, const Instr& instr, unsigned registers) const {
    const BlockId block = instr.block->id;
    if (instr.block->isAside) return "not hoisted: it is in a cold block of the loop";
    const bool isInEveryRound = runsInEveryRound(loop, block);
    if (what_ == Hoist::Loads)
      return isInEveryRound && runsBeforeAnyLeaves(loop, block) ? nullptr
                                                                : "load not hoisted: some threads may not execute it";
    // What some rounds do without is worth no register that others may want.
    if (isInEveryRound) return nullptr;
    if (!freeRegisters_) freeRegisters_ = registersUpToCliff(function_, 0, context_);
    if (registers <= *freeRegisters_) return nullptr;
    return "not hoisted: not every iteration executes it";
  }

  /// Every lane that enters the loop comes here: it would have read that address in any case.
  bool runsBeforeAnyLeaves(LoopId loop, BlockId block) const {
    for (BlockId id : loops_.blocks(loop)) {
      const Instr* last = function_.block(id)->last;
      const bool endsLanes = last && ori::isTerminator(last->op) && last->op != isa::Op::BRA;
      if (endsLanes && !dominators_.dominates(block, id)) return false;
    }
    const auto exits = loops_.exits(loop);
    return std::all_of(exits.begin(), exits.end(),
                       [&](const auto& exit) { return dominators_.dominates(block, exit.first); });
  }

  LoopMemory memoryOf(LoopId loop) const {
    LoopMemory memory;
    // Where no value goes from round to round, the loop waits for what others store.
    const Instr* first = function_.block(loops_.loop(loop).header)->first;
    memory.isOrdered = !first || first->op != isa::Op::PHI;
    for (BlockId id : loops_.blocks(loop))
      for (const Instr& instr : *function_.block(id)) {
        const isa::InstrDesc& row = isa::desc(instr.op);
        if (row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic)) {
          const MemoryAccess access = accessOf(instr);
          memory.isOrdered |= access.isOrdered || row.has(Flag::Fence);
          memory.mayHaveWriters |= row.has(Flag::Fence);
          if (access.isStore && memory.stores.size() <= kMostStores) memory.stores.push_back(access);
        } else {
          const bool isKnown = row.has(Flag::Terminator) || !row.has(Flag::SideEffect);
          memory.isOrdered |= row.has(Flag::Fence) || !isKnown;
          memory.mayHaveWriters |= !isKnown && !row.has(Flag::Convergent);
        }
      }
    memory.isOrdered |= memory.stores.size() > kMostStores;
    return memory;
  }

  /// Nothing that runs in the loop may change what the load reads.
  bool keepsItsValue(const Instr& load) const {
    const MemoryAccess access = accessOf(load);
    if (access.isReadOnly ? memory_.mayHaveWriters : memory_.isOrdered) return false;
    if (access.isReadOnly) return true;
    return std::none_of(memory_.stores.begin(), memory_.stores.end(), [&](const MemoryAccess& store) {
      return mustStayInOrder(access, store, access.base == store.base && access.uniformBase == store.uniformBase);
    });
  }

  bool runsInEveryRound(LoopId loop, BlockId block) const {
    const std::vector<BlockId>& latches = loops_.loop(loop).latches;
    return std::all_of(latches.begin(), latches.end(),
                       [&](BlockId latch) { return dominators_.dominates(block, latch); });
  }

  /// Someone reads a result who is not an invariant.
  bool isReadByRest(const Instr& instr) const {
    bool isRead = false;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isVirtual())
        function_.forEachUse(o.reg, [&](ori::Operand& use) { isRead |= !invariants_.count(use.owner); });
    return isRead;
  }

  /// The invariant and those that it needs and that are not to move anyway.
  std::vector<Instr*> chainOf(Instr* root) const {
    std::vector<Instr*> chain{root};
    for (std::size_t i = 0; i < chain.size() && chain.size() <= kLongestChain; ++i)
      for (const ori::Operand& o : chain[i]->ops()) {
        if (o.isDef || !o.isVirtual()) continue;
        for (unsigned k = 0; k < o.width; ++k) {
          Instr* def = rewriter_.definition(o.value(), k).instr;
          if (invariants_.count(def) && std::find(chain.begin(), chain.end(), def) == chain.end()) chain.push_back(def);
        }
      }
    return chain;
  }

  /// Instructions saved in each round.
  unsigned work(const std::vector<Instr*>& chain) const {
    return static_cast<unsigned>(
        std::count_if(chain.begin(), chain.end(), [&](const Instr* instr) { return !isAsWellMadeInside(*instr); }));
  }

  /// Copies are free where they can be, and a number that goes into a phi or a copy is set there in any case. Those
  /// that other instructions read stand here because none of these could name them.
  bool isAsWellMadeInside(const Instr& instr) const {
    if (!isa::desc(instr.op).has(Flag::Copy) && instr.op != isa::Op::MOV) return false;
    if (instr.op != isa::Op::MOV || !instr.op_(1).isImm() || !instr.op_(0).isVirtual()) return true;
    bool isCopied = false;
    function_.forEachUse(instr.op_(0).reg, [&](ori::Operand& use) { isCopied |= isa::desc(use.owner->op).isPseudo(); });
    return isCopied;
  }

  static unsigned widthOf(const Instr& instr) {
    unsigned width = 0;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isVirtual()) width += o.width;
    return width;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const Hoist what_;
  const Rewriter rewriter_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const ori::RegisterPressure* pressure_ = nullptr; ///< once there is a candidate; nothing has changed then
  unsigned limit_ = 0;
  mutable std::optional<unsigned> freeRegisters_; ///< that cost no warps at all
  LoopMemory memory_;                             // of the loop at hand
  std::map<const Instr*, bool> invariants_;       // of the loop at hand; whether it moves
  std::vector<Instr*> order_;                     // the same, definitions before uses
};

bool hoist(ori::Function& function, PhaseContext& context, Hoist what) {
  return changeFromInnermost(function, kMostLevels,
                             [&](std::uint32_t depth) { return Level(function, context, what).hoist(depth); });
}

} // namespace

/// Phase 35. Loads that read the same in each round of a loop are done once, in front of the loop: those of addresses
/// that stay the same, where nothing in the loop stores there and the loop does not meet other threads. Each lane that
/// enters the loop must come to the load, so that none reads what it would not have read. Sums and conversions wait for
/// phase 66, since addressing may take them in yet.
bool oriHoistInvariantsEarly(ori::Function& function, PhaseContext& context) {
  return hoist(function, context, Hoist::Loads);
}

/// Phase 66. What computes the same in each round of a loop is computed once, in front of the loop: inner loops first,
/// so that it may go on to the front of the next one. A value in front of a loop holds a register throughout, so those
/// move that spare the most instructions, as long as the occupancy of the function stays what it is.
bool oriHoistInvariantsLate(ori::Function& function, PhaseContext& context) {
  return hoist(function, context, Hoist::Arithmetic);
}

} // namespace orias::phases

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/branch_walk.h"
#include "phases/loop_preheader.h"
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

/// In deeper nests, the invariants of the outermost loops are not hoisted.
constexpr std::uint32_t kMaxLevels = 8;
/// Longer chains are not hoisted: each invariant is examined with its whole chain.
constexpr std::size_t kLongestChain = 64;
/// Loads are not hoisted from loops with more stores than this: each load is compared with each store.
constexpr std::size_t kMaxStores = 32;

/// What the two phases move.
enum class Hoist {
  Loads,     ///< loads, with what their addresses need
  Arithmetic ///< everything that computes from its operands alone
};

/// How the memory that a loop reads may change while it runs.
struct LoopMemory {
  std::vector<MemoryAccess> stores;
  /// Other threads' stores may become visible meanwhile, or unknown code runs.
  bool isOrdered = false;
  bool mayHaveWriters = false; ///< even of read-only memory: the code waits for another kernel, or is unknown
};

/// Whether the instruction depends only on its operands, lane by lane, and cannot fault, so it may run speculatively.
bool isPure(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (Flag flag : {Flag::Load, Flag::Volatile, Flag::Convergent, Flag::Uniform, Flag::UniformGuard, Flag::Variadic,
                    Flag::Varying, Flag::WarpWide})
    if (row.has(flag)) return false;
  for (unsigned i = 0; i < row.slotCount; ++i)
    if (row.texts[i].style == isa::Style::SpecialReg) return false;
  return !instr.isGuarded() && isRemovable(instr) && instr.op != isa::Op::UNDEF && instr.op != isa::Op::PHI;
}

/// Whether the instruction is a weak load (no ordering with other threads) and does nothing else.
bool isWeakLoad(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (!row.has(Flag::Load) || instr.isGuarded() || !isRemovable(instr)) return false;
  for (Flag flag : {Flag::Volatile, Flag::Convergent, Flag::Uniform, Flag::UniformGuard, Flag::Variadic})
    if (row.has(flag)) return false;
  const MemoryAccess access = accessOf(instr);
  return access.isExact && !access.isOrdered;
}

/// The loops of one depth. All moves are decided before any is made.
class Level {
 public:
  Level(ori::Function& function, PhaseContext& context, Hoist what)
      : function_(function), context_(context), what_(what), rewriter_(function), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()) {}

  /// Returns whether something moved: the snapshots are out of date then.
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
    const BlockId from = uniqueEntering(loops_, cfg_, loop);
    if (from == ori::kNoId) {
      context_.remarks.missed(function_.block(header)->first, "not hoisted: the loop has several entries");
      return;
    }

    // Each hoisted result that the loop reads keeps a register throughout. The roots with the longest chains come
    // first.
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
        context_.remarks.missed(root.instr, why);
        continue;
      }
      if (used + width > limit_) {
        context_.remarks.missed(root.instr, "not hoisted: register pressure is too high", width);
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
      context_.remarks.applied(instr, "hoisted out of the loop", 1);
      moveToEnd(function_, *instr, *front);
    }
  }

  /// Whether all operands are loop-invariant: constants, values defined outside, or invariants found before.
  bool isInvariant(LoopId loop, const Instr& instr) const {
    const bool isLoad = what_ == Hoist::Loads && isWeakLoad(instr);
    if (!isPure(instr) && !isLoad) return false;
    bool hasResult = false;
    for (const ori::Operand& o : instr.ops()) {
      if (o.isDef) {
        if (!o.isReg() || o.isZeroReg()) continue;
        // There are seven predicates, so they are not kept live across loops.
        if (!o.isVirtual() || o.file != File::R || !rewriter_.isSingle(o.reg)) return false;
        hasResult = true;
        continue;
      }
      if (o.isConst() && o.reg != Operand::kNoReg) return false;
      if (o.isReg() && !o.isZeroReg() && !comesFromOutside(loop, o)) return false;
    }
    if (hasResult && isLoad && !keepsItsValue(instr)) {
      context_.remarks.missed(&instr, memory_.isOrdered || memory_.mayHaveWriters
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

  /// Why an invariant is not hoisted; null when it may be.
  const char* whyNot(LoopId loop, const Instr& instr, unsigned registers) const {
    const BlockId block = instr.block->id;
    if (instr.block->isCold) return "not hoisted: it is in a cold block of the loop";
    const bool isInEveryIteration = runsInEveryIteration(loop, block);
    if (what_ == Hoist::Loads)
      return isInEveryIteration && runsBeforeAnyLeaves(loop, block)
                 ? nullptr
                 : "load not hoisted: some threads may not execute it";
    // An instruction that some iterations skip is not worth a register that costs warps.
    if (isInEveryIteration) return nullptr;
    if (!freeRegisters_) freeRegisters_ = registersUpToCliff(function_, 0, context_);
    if (registers <= *freeRegisters_) return nullptr;
    return "not hoisted: not every iteration executes it";
  }

  /// Whether every lane that enters the loop comes here, so it would have read that address in any case.
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
    // Where no value is carried between iterations, the loop waits for other threads' stores.
    const Instr* first = function_.block(loops_.loop(loop).header)->first;
    memory.isOrdered = !first || first->op != isa::Op::PHI;
    for (BlockId id : loops_.blocks(loop))
      for (const Instr& instr : *function_.block(id)) {
        const isa::InstrDesc& row = isa::desc(instr.op);
        if (row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic)) {
          const MemoryAccess access = accessOf(instr);
          memory.isOrdered |= access.isOrdered || row.has(Flag::Fence);
          memory.mayHaveWriters |= row.has(Flag::Fence);
          if (access.isStore && memory.stores.size() <= kMaxStores) memory.stores.push_back(access);
        } else {
          const bool isKnown = row.has(Flag::Terminator) || !row.has(Flag::SideEffect);
          memory.isOrdered |= row.has(Flag::Fence) || !isKnown;
          memory.mayHaveWriters |= !isKnown && !row.has(Flag::Convergent);
        }
      }
    memory.isOrdered |= memory.stores.size() > kMaxStores;
    return memory;
  }

  /// Whether nothing in the loop may change the loaded value.
  bool keepsItsValue(const Instr& load) const {
    const MemoryAccess access = accessOf(load);
    if (access.isReadOnly ? memory_.mayHaveWriters : memory_.isOrdered) return false;
    if (access.isReadOnly) return true;
    return std::none_of(memory_.stores.begin(), memory_.stores.end(), [&](const MemoryAccess& store) {
      return mustStayInOrder(access, store, access.base == store.base && access.uniformBase == store.uniformBase);
    });
  }

  bool runsInEveryIteration(LoopId loop, BlockId block) const {
    const std::vector<BlockId>& latches = loops_.loop(loop).latches;
    return std::all_of(latches.begin(), latches.end(),
                       [&](BlockId latch) { return dominators_.dominates(block, latch); });
  }

  /// Whether a result has a reader that is not an invariant.
  bool isReadByRest(const Instr& instr) const {
    bool isRead = false;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isVirtual())
        function_.forEachUse(o.reg, [&](ori::Ref use) { isRead |= !invariants_.count(use.owner); });
    return isRead;
  }

  /// The invariant and its operands' chain, except for instructions that move anyway.
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

  /// Instructions saved in each iteration.
  unsigned work(const std::vector<Instr*>& chain) const {
    return static_cast<unsigned>(
        std::count_if(chain.begin(), chain.end(), [&](const Instr* instr) { return !isAsWellMadeInside(*instr); }));
  }

  /// Copies can be coalesced, and a number for a phi or a copy is set there in any case. Copies and numbers with other
  /// users exist because these users could not take the operand directly.
  bool isAsWellMadeInside(const Instr& instr) const {
    if (!isa::desc(instr.op).has(Flag::Copy) && instr.op != isa::Op::MOV) return false;
    if (instr.op != isa::Op::MOV || !instr.op_(1).isImm() || !instr.op_(0).isVirtual()) return true;
    bool isCopied = false;
    function_.forEachUse(instr.op_(0).reg, [&](ori::Ref use) { isCopied |= isa::desc(use.owner->op).isPseudo(); });
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
  const ori::RegisterPressure* pressure_ = nullptr; ///< set once there is a candidate; the code has not changed then
  unsigned limit_ = 0;
  mutable std::optional<unsigned> freeRegisters_; ///< that cost no warps
  LoopMemory memory_;                             // of the current loop
  std::map<const Instr*, bool> invariants_;       // of the current loop; whether it moves
  std::vector<Instr*> order_;                     // the same, definitions before uses
};

bool hoist(ori::Function& function, PhaseContext& context, Hoist what) {
  return changeFromInnermost(function, kMaxLevels,
                             [&](std::uint32_t depth) { return Level(function, context, what).hoist(depth); });
}

} // namespace

/// Phase 35. Hoists loop-invariant loads before the loop: loads of invariant addresses, where nothing in the loop
/// stores there and the loop does not synchronize with other threads. Each lane that enters the loop must come to the
/// load, so that none reads an address that it would not have read. Sums and conversions wait for phase 66, since
/// addresses may fold them first.
bool oriHoistInvariantsEarly(ori::Function& function, PhaseContext& context) {
  return hoist(function, context, Hoist::Loads);
}

/// Phase 66. Hoists loop-invariant computations before the loop. Inner loops come first, so that a value may move on to
/// before the outer loop. A hoisted value holds a register throughout the loop, so those move that save the most
/// instructions, as long as the occupancy of the function does not change.
bool oriHoistInvariantsLate(ori::Function& function, PhaseContext& context) {
  return hoist(function, context, Hoist::Arithmetic);
}

} // namespace orias::phases

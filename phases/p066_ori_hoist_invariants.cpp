#include "encoder/isa/desc.h"
#include "ori/analysis/liveness.h"
#include "ori/analysis/loops.h"
#include "ori/cfg_edit.h"
#include "phases/occupancy.h"
#include "phases/optimize/rewriter.h"
#include "phases/phases.h"
#include "phases/removable.h"

#include <algorithm>
#include <map>
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

/// Computes from its operands alone, the same each time, for each lane by itself, and cannot fault: it may run where it
/// did not run before. Loads are none of these: another thread may store, and the address may be wrong where nobody
/// asked for it.
bool isPure(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (Flag flag : {Flag::Load, Flag::Volatile, Flag::Convergent, Flag::Uniform, Flag::UniformGuard, Flag::Variadic,
                    Flag::Varying, Flag::WarpWide})
    if (row.has(flag)) return false;
  for (unsigned i = 0; i < row.slotCount; ++i)
    if (row.texts[i].style == isa::Style::SpecialReg) return false;
  return !instr.isGuarded() && isRemovable(instr) && instr.op != isa::Op::UNDEF && instr.op != isa::Op::PHI;
}

/// The loops of one depth: what is to move out of which, decided before anything moves.
class Level {
 public:
  Level(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), rewriter_(function), cfg_(function),
        dominators_(ori::DomTree::dominators(cfg_)), loops_(cfg_, dominators_), liveness_(cfg_),
        pressure_(ori::computePressure(function, liveness_)),
        limit_(registersUpToCliff(std::max(pressure_.maximum[static_cast<unsigned>(File::R)],
                                           kRegistersOfFullHouse - context.target.reservedRegisters()),
                                  context)) {}

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
    for (BlockId id : loops_.blocks(loop))
      for (Instr& instr : *function_.block(id))
        if (isInvariant(loop, instr)) {
          invariants_[&instr] = false;
          order_.push_back(&instr);
        }
    if (order_.empty()) return;
    const BlockId header = loops_.loop(loop).header;
    const BlockId from = onlyEntry(loop);
    if (from == ori::kNoId) {
      context_.remarks.refused(function_.block(header)->first, "invariants stay: the loop has several ways in");
      return;
    }

    // Each result that the loop goes on reading keeps a register throughout. Those first that bring the most with them.
    struct Root {
      Instr* instr;
      std::vector<Instr*> chain;
    };
    std::vector<Root> roots;
    for (Instr* instr : order_)
      if (isReadByRest(*instr)) roots.push_back({instr, chainOf(instr)});
    std::stable_sort(roots.begin(), roots.end(),
                     [&](const Root& a, const Root& b) { return work(a.chain) > work(b.chain); });
    unsigned used = 0;
    for (BlockId id : loops_.blocks(loop))
      used = std::max(used, pressure_.byBlock[id][static_cast<unsigned>(File::R)]);
    for (const Root& root : roots) {
      if (work(root.chain) == 0 || root.chain.size() > kLongestChain) continue;
      if (!runsInEveryRound(loop, root.instr->block->id)) {
        context_.remarks.refused(root.instr, "stays in the loop: not every round comes here");
        continue;
      }
      unsigned width = 0;
      for (const Instr* instr : root.chain)
        if (!invariants_[instr] && isReadByRest(*instr)) width += widthOf(*instr);
      if (used + width > limit_) {
        context_.remarks.refused(root.instr, "stays in the loop: registers are short", width);
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
    Instr* end = front->last && ori::isTerminator(front->last->op) ? front->last : nullptr;
    for (Instr* instr : move.instrs) {
      context_.remarks.did(instr, "moved in front of the loop", 1);
      function_.unlink(instr);
      if (end)
        function_.insertBefore(end, instr);
      else
        function_.append(front, instr);
      function_.touch(instr);
    }
  }

  /// All operands are the same in each round: constants, what is defined outside, or invariants seen before.
  bool isInvariant(LoopId loop, const Instr& instr) const {
    if (!isPure(instr)) return false;
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

  /// The source of the only edge into the loop, or kNoId.
  BlockId onlyEntry(LoopId loop) const {
    BlockId found = ori::kNoId;
    const BlockId header = loops_.loop(loop).header;
    if (header == cfg_.entry()) return ori::kNoId;
    for (BlockId p : cfg_.predecessors(header)) {
      if (cfg_.isReachable(p) && loops_.contains(loop, p)) continue;
      if (found != ori::kNoId) return ori::kNoId;
      found = p;
    }
    return found;
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
  const Rewriter rewriter_;
  const ori::Cfg cfg_;
  const ori::DomTree dominators_;
  const ori::Loops loops_;
  const ori::Liveness liveness_;
  const ori::Pressure pressure_;
  const unsigned limit_;
  std::map<const Instr*, bool> invariants_; // of the loop at hand; whether it moves
  std::vector<Instr*> order_;               // the same, definitions before uses
};

std::uint32_t deepestLoop(const ori::Function& function) {
  const ori::Cfg cfg(function);
  const ori::Loops loops(cfg, ori::DomTree::dominators(cfg));
  std::uint32_t depth = 0;
  for (const ori::Loop& loop : loops.all())
    depth = std::max(depth, loop.depth);
  return depth;
}

} // namespace

/// Phase 66. What computes the same in each round of a loop is computed once, in front of the loop: inner loops first,
/// so that it may go on to the front of the next one. A value in front of a loop holds a register throughout, so those
/// move that spare the most instructions, as long as the occupancy of the function stays what it is.
bool oriHoistInvariants(ori::Function& function, PhaseContext& context) {
  const std::uint32_t deepest = deepestLoop(function);
  bool changed = false;
  for (std::uint32_t depth = deepest; depth > 0 && deepest - depth < kMostLevels; --depth)
    changed |= Level(function, context).hoist(depth);
  return changed;
}

} // namespace orias::phases

// Resolves branches and guards whose condition is known: a constant, or decided by a dominating branch.

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/optimize/rewriter.h"
#include "phases/optimize/single_def_values.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Function;
using ori::Instr;
using ori::kNoId;

namespace {

/// Facts about branch predicates. Must be created again after operands change.
class Predicates {
 public:
  explicit Predicates(const Function& function) : function_(function), isSingle_(singleDefValues(function)) {}

  /// Whether the predicate has a single value and also another use.
  bool hasOtherUses(const Operand& guard) const {
    if (!isSingle(guard)) return false;
    unsigned uses = 0;
    for (const ori::Ref o : function_.refs(guard.reg)) {
      if (uses == 2) break;
      uses += !o->isDef;
    }
    return uses != 1;
  }

  /// The value of a predicate (with its inversion), if known; follows copies.
  std::optional<bool> truthOf(Operand o) const {
    constexpr unsigned kMaxCopies = 8;
    bool isInverted = false;
    for (unsigned steps = 0; steps < kMaxCopies; ++steps) {
      if (!o.isReg(File::P)) return std::nullopt;
      isInverted ^= o.inverted();
      if (o.isZeroReg()) return !isInverted;
      if (!o.isVirtual() || !isSingle(o)) return std::nullopt;
      const Instr* made = function_.singleDef(o.reg);
      if (!made || made->op != Op::COPY || made->isGuarded()) return std::nullopt;
      o = made->op_(1).value();
    }
    return std::nullopt;
  }

 private:
  bool isSingle(const Operand& predicate) const { return isSingle_[predicate.reg]; }

  const Function& function_;
  std::vector<bool> isSingle_; // by register
};

/// Replaces the uses of a branch predicate that the branch dominates by the known value.
class BranchConditions {
 public:
  BranchConditions(Function& function, const Predicates& predicates) : function_(function), predicates_(predicates) {}

  bool run() {
    for (Block* block : function_.layout())
      if (const Instr* branch = ori::plainBranch(*block); branch && hasOtherUses(*branch)) sources_.push_back(block);
    if (sources_.empty()) return false;
    const ori::Cfg& cfg = function_.analyses().cfg();
    const ori::DomTree& tree = function_.analyses().dominators();
    bool changed = false;
    for (Block* block : sources_) {
      const Instr* branch = ori::plainBranch(*block);
      if (!branch || !hasOtherUses(*branch)) continue; // an earlier branch has decided it
      const BlockId taken = target(*branch), other = block->fallthrough;
      const Operand guard = branch->guard().value();
      if (taken == other) continue;
      changed |= replaceAfter(cfg, tree, *block, taken, guard.reg, !guard.inverted());
      changed |= replaceAfter(cfg, tree, *block, other, guard.reg, guard.inverted());
    }
    return changed;
  }

 private:
  static BlockId target(const Instr& branch) {
    for (const ori::Operand& o : branch.ops())
      if (o.isLabel()) return o.reg;
    return kNoId;
  }

  bool hasOtherUses(const Instr& branch) const {
    const Operand guard = branch.guard().value();
    return branch.isGuarded() && guard.isReg(File::P) && guard.isVirtual() && branch.block->fallthrough != kNoId &&
           predicates_.hasOtherUses(guard);
  }

  /// If the edge is the only way to `to`, the predicate is known in all blocks that `to` dominates.
  bool replaceAfter(const ori::Cfg& cfg, const ori::DomTree& tree, const Block& from, BlockId to, ori::VRegId predicate,
                    bool truth) {
    if (to == cfg.entry() || cfg.predecessors(to).size() != 1 || cfg.predecessors(to).front() != from.id) return false;
    std::vector<ori::Ref> uses;
    function_.forEachUse(predicate, [&](ori::Ref use) {
      const Instr& user = *use.owner;
      if (cfg.isReachable(user.block->id) && tree.dominates(to, user.block->id) && takesTruth(use)) uses.push_back(use);
    });
    for (const ori::Ref use : uses)
      function_.setOperand(use, truth != use->inverted() ? Operand::pt() : Operand::pt().notted());
    return !uses.empty();
  }

  static bool takesTruth(ori::Ref use) {
    const Instr& user = *use.owner;
    if (use.isGuard()) return true;
    if (isa::desc(user.op).isPseudo()) return user.op == Op::COPY;
    return Rewriter::fitsWith(user, use.index(), Operand::pt()) &&
           Rewriter::fitsWith(user, use.index(), Operand::pt().notted());
  }

  Function& function_;
  const Predicates& predicates_;
  std::vector<Block*> sources_;
};

bool isNever(const Operand& guard) {
  return guard.isZeroReg() && guard.inverted();
}

/// Removes an instruction that no lane executes. Registers without another definition become undefined.
void removeNeverRun(Function& function, Instr& instr) {
  for (const ori::Operand& o : instr.ops()) {
    if (!o.isDef || !o.isVirtual() || !function.ssa) continue;
    bool isDefinedElsewhere = false;
    function.forEachDef(o.reg, [&](ori::Ref def) {
      isDefinedElsewhere |= def.owner != &instr && def->sub < o.sub + o.width && o.sub < def->sub + def->width;
    });
    if (isDefinedElsewhere || !function.hasUses(o.reg)) continue;
    const Operand operands[]{o.value()};
    function.insertBefore(&instr, function.create(Op::UNDEF, operands, instr.source));
  }
  function.erase(&instr);
}

/// Decides the predicates of branches, up to two for each branch.
class Decider {
 public:
  Decider(Function& function, const Predicates& predicates) : function_(function), predicates_(predicates) {}

  /// True if something changed; `lostEdge` if control flow did.
  bool run(bool& lostEdge) {
    bool changed = false;
    std::vector<Instr*> never;
    for (Block* block : function_.layout()) {
      for (Instr& instr : *block)
        if (!ori::isTerminator(instr.op) && isNever(instr.guard().value())) never.push_back(&instr);
      if (decide(*block)) changed = lostEdge = true;
    }
    for (Instr* instr : never)
      removeNeverRun(function_, *instr);
    return changed || !never.empty();
  }

 private:
  bool decide(Block& block) {
    Instr* last = block.last;
    if (!last || !ori::isTerminator(last->op) || block.fallthrough == kNoId) return false;
    const auto guard = predicates_.truthOf(last->guard().value());
    std::optional<bool> second = true;
    std::optional<unsigned> slot;
    for (unsigned i = 0; i < last->operandCount; ++i)
      if (const ori::Operand& o = last->op_(i); o.isReg(File::P) && !o.isDef) {
        if (slot) return false;
        slot = i, second = predicates_.truthOf(o.value());
      }
    if (guard == false || second == false) {
      const std::vector<BlockId> targets = function_.successors(block);
      function_.erase(last);
      for (BlockId to : targets)
        if (to != block.fallthrough) ori::removePhiSource(function_, function_.block(to), block.id);
      return true;
    }
    if (guard != true || second != true) return false;
    function_.setGuard(last, Operand::pt());
    if (slot) function_.setOperand(last, *slot, Operand::pt());
    const BlockId other = block.fallthrough;
    block.fallthrough = kNoId;
    const std::vector<BlockId> rest = function_.successors(block);
    if (std::find(rest.begin(), rest.end(), other) == rest.end())
      ori::removePhiSource(function_, function_.block(other), block.id);
    return true;
  }

  Function& function_;
  const Predicates& predicates_;
};

} // namespace

bool decideBranches(Function& function) {
  bool lostEdge = false;
  std::optional<Predicates> predicates(std::in_place, function);
  bool changed = BranchConditions(function, *predicates).run();
  if (changed) predicates.emplace(function);
  changed |= Decider(function, *predicates).run(lostEdge);
  if (!lostEdge) return changed;
  ori::removeUnreachableBlocks(function);
  ori::mergeBlocks(function);
  ori::setLoopDepths(function, function.analyses().loops());
  return true;
}

} // namespace orias::phases

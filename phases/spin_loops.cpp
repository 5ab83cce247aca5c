#include "phases/spin_loops.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/cfg_edit.h"
#include "phases/induction_variables.h"
#include "phases/loop_preheader.h"
#include "phases/memory_access.h"

#include <algorithm>
#include <optional>
#include <set>

namespace orias::phases {

using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

namespace {

/// Whether the instruction may return a value that another thread has written since it last ran.
bool readsOthers(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (!row.has(Flag::Atomic) && !row.has(Flag::Load)) return false;
  const MemoryAccess access = accessOf(instr);
  return access.isOrdered && !access.isReadOnly;
}

bool readsOthers(const ori::Block& block) {
  for (const Instr& instr : block)
    if (readsOthers(instr)) return true;
  return false;
}

bool isCompareAndSwap(const Instr& instr) {
  return instr.op == Op::ATOMG_CAS || instr.op == Op::ATOM_CAS || instr.op == Op::ATOMS_CAS ||
         instr.op == Op::ATOMS_CAS_P;
}

/// Whether lowering puts the instruction into a loop that ends when it has stored.
bool isCastSpin(const Instr& instr) {
  const int form = isa::desc(instr.op).modIndex(isa::Mod::Sub);
  return isCompareAndSwap(instr) && form >= 0 && instr.mods[form] != 0;
}

class Finder {
 public:
  explicit Finder(ori::Function& function)
      : function_(function), definitions_(function), cfg_(function.analyses().cfg()),
        loops_(function.analyses().loops()), dominators_(function.analyses().dominators()),
        divergence_(function.analyses().divergence()) {}

  std::vector<LoopId> run() {
    std::vector<LoopId> found;
    for (LoopId loop = static_cast<LoopId>(loops_.all().size()); loop-- > 0;) { // inner loops first
      if (!mayContainReads(loop)) continue;
      collect(loop);
      if (reads_.empty() || (entersTogether(loop) && areReadsAlike_)) continue;
      if (const Instr* swap = lockFreeSwap(loop))
        lockFree_.insert(swap);
      else
        found.push_back(loop);
    }
    return found;
  }

 private:
  /// Whether the loop can be a candidate: it has such reads, and does not sleep.
  bool mayContainReads(LoopId loop) const {
    bool reads = false;
    for (BlockId id : loops_.blocks(loop)) {
      const ori::Block& block = *function_.block(id);
      for (const Instr& instr : block)
        if (instr.op == Op::NANOSLEEP) return false;
      reads = reads || readsOthers(block);
    }
    return reads;
  }

  bool entersTogether(LoopId loop) {
    const BlockId entry = uniqueEntering(loops_, cfg_, loop), header = loops_.loop(loop).header;
    if (entry == ori::kNoId) return false;
    return (divergence_.isUniformBlock(entry) && !divergence_.branchesApart(entry)) || reconvergeBefore(header);
  }

  /// Whether diverged lanes wait for each other before the block.
  bool reconvergeBefore(BlockId header) {
    if (!convergence_) {
      std::vector<bool> isDivergent(cfg_.idCount());
      for (const BlockId id : cfg_.reversePostOrder())
        isDivergent[id] = divergence_.branchesApart(id);
      convergence_ = ori::planConvergence(cfg_, dominators_, function_.analyses().postDominators(), loops_,
                                          ori::usableBarriers(function_).count, isDivergent);
    }
    return std::ranges::any_of(convergence_->regions, [&](const ori::ConvergenceRegion& region) {
      return region.meet == header && region.leaving.empty() && !region.isShared &&
             divergence_.isUniformBlock(region.from);
    });
  }

  /// Collects what the exit conditions depend on, as far as it is computed in the loop.
  void collect(LoopId loop) {
    reads_.clear();
    areReadsAlike_ = true;
    work_.clear();
    seen_.clear();
    for (const auto& [from, to] : loops_.exits(loop))
      if (Instr* last = function_.block(from)->last) take(*last);
    for (std::size_t i = 0; i < work_.size(); ++i)
      for (const ori::Operand& o : work_[i]->refs())
        if (!o.isDef) follow(loop, o);
  }

  void follow(LoopId loop, const Operand& o) {
    if (!o.isVirtual()) return;
    bool isFromOutside = definitions_.of(o.reg).empty();
    unsigned inside = 0;
    for (const Definitions::Definition& definition : definitions_.of(o.reg)) {
      const BlockId block = definition.instr->block->id;
      if (!loops_.contains(loop, block)) {
        isFromOutside = true;
        continue;
      }
      take(*definition.instr);
      ++inside;
      if (definition.instr->op == Op::PHI && block != loops_.loop(loop).header) takeBranches(loop, block);
    }
    // The components of a tuple in SSA form have one definition each.
    if (inside > 1 && (!function_.ssa || function_.vreg(o.reg).multiDef)) takeBranches(loop, ori::kNoId);
    if (isFromOutside && !divergence_.isUniform(o)) areReadsAlike_ = false;
  }

  /// The value at a join depends on the branches between its dominator and the join; without a join, on any branch in
  /// the loop.
  void takeBranches(LoopId loop, BlockId join) {
    for (BlockId id : loops_.blocks(loop)) {
      const bool isBetween = join == ori::kNoId || (cfg_.rpoIndex(id) >= cfg_.rpoIndex(dominators_.idom(join)) &&
                                                    cfg_.rpoIndex(id) < cfg_.rpoIndex(join));
      if (Instr* last = function_.block(id)->last; isBetween && last && ori::isTerminator(last->op)) take(*last);
    }
  }

  void take(Instr& instr) {
    if (!seen_.insert(&instr).second) return;
    work_.push_back(&instr);
    const isa::InstrDesc& row = isa::desc(instr.op);
    const bool isTest = instr.op == Op::SYNCS_PHASECHK;
    if (readsOthers(instr) && !lockFree_.contains(&instr)) reads_.push_back(&instr);
    // Values or effects that differ between lanes.
    if ((row.has(Flag::Atomic) && !isTest) || row.has(Flag::Varying) || instr.op == Op::S2R) areReadsAlike_ = false;
  }

  /// A compare-and-swap that each iteration executes, and whose success lets lanes leave the loop; or null.
  const Instr* lockFreeSwap(LoopId loop) const {
    const auto runsAlways = [&](BlockId id) {
      return std::ranges::all_of(loops_.loop(loop).latches,
                                 [&](BlockId latch) { return dominators_.dominates(id, latch); });
    };
    const auto exits = loops_.exits(loop);
    for (const Instr* read : reads_) {
      if (!isCompareAndSwap(*read) || read->isGuarded() || !runsAlways(read->block->id)) continue;
      if (isCastSpin(*read)) return read;
      for (const auto& [from, to] : exits)
        if (runsAlways(from) && leavesOnSuccess(loop, *read, *function_.block(from), to)) return read;
    }
    return nullptr;
  }

  bool leavesOnSuccess(LoopId loop, const Instr& swap, const ori::Block& from, BlockId to) const {
    const Instr* branch = ori::plainBranch(from);
    if (!branch || !branch->isGuarded()) return false;
    // Lanes leave if the guard predicate equals `leaves`.
    const bool leaves = (from.fallthrough != to) != branch->guard().inverted();
    const Instr* condition = definitions_.single(branch->guard().reg);
    if (!condition || condition->isGuarded()) return false;
    return function_.ssa && isLoopCarried(loop, swap) && comparesResult(swap, *condition, leaves);
  }

  /// Whether the compare-and-swap expects the value that the previous one has found.
  bool isLoopCarried(LoopId loop, const Instr& swap) const {
    const Operand& expected = slotOf(swap, isa::SlotId::Rb);
    const Operand& result = slotOf(swap, isa::SlotId::Rd);
    if (!expected.isVirtual() || expected.width != result.width || expected.inverted()) return false;
    for (const Definitions::Definition& definition : definitions_.of(expected.reg)) {
      const Instr& phi = *definition.instr;
      if (phi.op != Op::PHI || phi.block->id != loops_.loop(loop).header || phi.op_(0).width != 1) return false;
      for (const BlockId latch : loops_.loop(loop).latches) {
        const Operand* next = ori::phiValueFrom(phi, latch);
        if (!next || !next->isVirtual() || next->reg != result.reg ||
            next->sub - result.sub != phi.op_(0).sub - expected.sub)
          return false;
      }
    }
    return true;
  }

  /// Whether the condition compares the found value with the expected one, for equality (`wantsEqual`) or inequality.
  bool comparesResult(const Instr& swap, const Instr& condition, bool wantsEqual) const {
    const Operand& result = slotOf(swap, isa::SlotId::Rd);
    if (!comparesWords(swap, condition, wantsEqual, result.width - 1)) return false;
    if (result.width == 1 || condition.op == Op::ISETP_64) return true;
    // A comparison of the high words that includes the result for the low words.
    constexpr unsigned kLow = 5;
    if (result.width != 2 || condition.op != Op::ISETP_EX) return false;
    const Operand low = condition.op_(kLow).value();
    const Instr* first = low.isVirtual() && !low.inverted() ? definitions_.single(low.reg) : nullptr;
    return first && first->op == Op::ISETP && !first->isGuarded() && comparesWords(swap, *first, wantsEqual, 0);
  }

  static bool comparesWords(const Instr& swap, const Instr& compare, bool wantsEqual, unsigned word) {
    if (compare.op != Op::ISETP && compare.op != Op::ISETP_EX && compare.op != Op::ISETP_64) return false;
    constexpr unsigned kLeft = 2, kRight = 3, kAlso = 4;
    const auto comparison = isa::modAs<isa::ICmp>(compare, isa::Mod::Cmp);
    const Operand also = compare.op_(kAlso).value();
    if (comparison != (wantsEqual ? isa::ICmp::EQ : isa::ICmp::NE) || !also.isZeroReg() || also.inverted() ||
        isa::modAs<isa::BoolOp>(compare, isa::Mod::Bool) != isa::BoolOp::AND)
      return false;
    const auto isWordOf = [&](const Operand& o, const Operand& all) {
      return o.isVirtual() && !o.inverted() && !o.neg() && o.reg == all.reg && o.sub + o.width == all.sub + word + 1;
    };
    const Operand left = compare.op_(kLeft).value(), right = compare.op_(kRight).value();
    const Operand &result = slotOf(swap, isa::SlotId::Rd), &expected = slotOf(swap, isa::SlotId::Rb);
    return (isWordOf(left, result) && isWordOf(right, expected)) ||
           (isWordOf(left, expected) && isWordOf(right, result));
  }

  ori::Function& function_;
  const Definitions definitions_;
  const ori::Cfg& cfg_;
  const ori::Loops& loops_;
  const ori::DomTree& dominators_;
  const ori::Divergence& divergence_;
  std::optional<ori::ConvergencePlan> convergence_;
  std::vector<Instr*> work_;        ///< instructions that the exit conditions of the current loop depend on
  std::set<const Instr*> seen_;     ///< the instructions in work_
  std::vector<Instr*> reads_;       ///< those in work_ that read what other threads write
  std::set<const Instr*> lockFree_; ///< lock-free compare-and-swaps of inner loops
  bool areReadsAlike_ = true;       ///< lanes together in the loop read the same values; nothing else parts them
};

} // namespace

std::vector<LoopId> findSpinLoops(ori::Function& function) {
  const ori::Loops& loops = function.analyses().loops();
  bool mayBe = false;
  for (LoopId loop = 0; loop < loops.all().size() && !mayBe; ++loop)
    mayBe = loops.loop(loop).depth == 1 &&
            std::ranges::any_of(loops.blocks(loop), [&](BlockId id) { return readsOthers(*function.block(id)); });
  return mayBe ? Finder(function).run() : std::vector<LoopId>{};
}

} // namespace orias::phases

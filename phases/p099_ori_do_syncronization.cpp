#include "phases/phases.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/cfg.h"
#include "ori/analysis/convergence.h"
#include "ori/analysis/divergence.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"

#include <algorithm>

namespace orias::phases {

using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Function;
using ori::Instr;
using Region = ori::ConvergenceRegion;

namespace {

class Synchroniser {
 public:
  Synchroniser(Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function), dominators_(ori::DomTree::dominators(cfg_)),
        postDominators_(ori::DomTree::postDominators(cfg_)), loops_(cfg_, dominators_) {}

  bool run() {
    // The branches that all lanes take alike need no barrier, and the analysis, which phase 74 relied on, knows the
    // meetings that are planned here.
    const ori::Divergence divergence(cfg_);
    std::vector<bool> isDivergent(cfg_.idCount());
    for (BlockId b : cfg_.reversePostOrder()) {
      isDivergent[b] = divergence.branchesApart(b);
      if (!isDivergent[b] && cfg_.successors(b).size() > 1)
        context_.remarks.did(function_.block(b)->last, "no barrier: all threads of a warp leave here on the same way");
    }
    const ori::BarrierRange barriers = ori::usableBarriers(function_);
    firstBarrier_ = barriers.first;
    ori::ConvergencePlan plan =
        ori::planConvergence(cfg_, dominators_, postDominators_, loops_, barriers.count, isDivergent);
    for (const ori::MissedMeeting& missed : plan.missed)
      context_.remarks.refused(function_.block(missed.meet)->first,
                               missed.outOfBarriers ? "threads do not reconverge here: all barriers are in use"
                                                    : "threads do not reconverge here: the code is not nested");
    // Inner regions first: an outer BSYNC in front of the same block goes behind the inner ones.
    std::stable_sort(plan.regions.begin(), plan.regions.end(), [&](const Region& a, const Region& b) {
      return dominators_.level(a.from) > dominators_.level(b.from);
    });
    for (const Region& region : plan.regions)
      insert(region);
    return !plan.regions.empty();
  }

 private:
  void insert(const Region& region) {
    Block* from = function_.block(region.from);
    Block* meet = function_.block(region.meet);
    const Operand barrier = Operand::physical(isa::File::B, firstBarrier_ + region.barrier);

    // The BSYNC gets a block of its own; BSSY names the block behind it (observed).
    Block* sync = function_.newBlockAfter(layoutPredecessor(meet));
    std::vector<BlockId> entries;
    for (BlockId p : currentPredecessors(meet))
      if (!isBackEdge(p, region.meet)) entries.push_back(p);
    for (BlockId p : entries)
      redirect(function_.block(p), meet, sync);
    sync->fallthrough = meet->id;
    sync->loopDepth = from->loopDepth;
    ori::Builder atSync(function_, sync);
    if (meet->first) atSync.setSource(meet->first->source);
    atSync.emit(isa::Op::BSYNC, {Operand::pt(), barrier});

    ori::Builder atFrom = from->last && ori::isTerminator(from->last->op) ? ori::Builder::before(function_, from->last)
                                                                          : ori::Builder(function_, from);
    atFrom.emit(isa::Op::BSSY, {Operand::pt(), barrier, Operand::label(meet->id)});
    context_.remarks.did(from->last, "threads that leave here on different ways reconverge", 2);
  }

  /// Blocks made by earlier insertions are not in the analyses; they lead where they were put.
  bool isBackEdge(BlockId p, BlockId meet) const {
    return p < cfg_.idCount() && cfg_.isReachable(p) && cfg_.isRetreating(p, meet);
  }

  std::vector<BlockId> currentPredecessors(const Block* meet) const {
    std::vector<BlockId> out;
    for (const Block* b : function_.layout())
      function_.forEachSuccessor(*b, [&](BlockId s) {
        if (s == meet->id) out.push_back(b->id);
      });
    return out;
  }

  Block* layoutPredecessor(const Block* block) const {
    const auto& layout = function_.layout();
    auto at = std::find(layout.begin(), layout.end(), block);
    return *(at - 1);
  }

  void redirect(Block* p, const Block* meet, const Block* sync) {
    if (p->fallthrough == meet->id) p->fallthrough = sync->id;
    if (!p->last || !ori::isTerminator(p->last->op)) return;
    for (unsigned i = 0; i < p->last->operandCount; ++i)
      if (p->last->op_(i).kind == Operand::Kind::Label && p->last->op_(i).reg == meet->id)
        function_.setOperand(p->last, i, Operand::label(sync->id));
  }

  Function& function_;
  PhaseContext& context_;
  ori::Cfg cfg_;
  ori::DomTree dominators_;
  ori::DomTree postDominators_;
  ori::Loops loops_;
  unsigned firstBarrier_ = 0;
};

} // namespace

/// Phase 99. Makes the sides of divergent branches meet again: BSSY at a block that dominates them, BSYNC in front of
/// the block that post-dominates them (public notes on sm_90: bssy.md, bsync.md; the placement of both was observed).
/// Barriers are given numbers here: their nesting is known now, and they have no use that allocation could weigh.
bool oriDoSyncronization(Function& function, PhaseContext& context) {
  return Synchroniser(function, context).run();
}

} // namespace orias::phases

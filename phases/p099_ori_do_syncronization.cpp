#include "phases/phases.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"

#include <algorithm>
#include <map>
#include <set>

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
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), postDominators_(function.analyses().postDominators()),
        loops_(function.analyses().loops()) {}

  bool run() {
    // Uniform branches need no barrier. The divergence analysis, which phase 74 relied on, knows the reconvergence
    // points that are planned here.
    const ori::Divergence& divergence = function_.analyses().divergence();
    std::vector<bool> isDivergent(cfg_.idCount());
    findWaits();
    for (BlockId b : cfg_.reversePostOrder()) {
      if (cfg_.successors(b).size() < 2) continue;
      const Instr* branch = function_.block(b)->last;
      if (!divergence.branchesApart(b))
        context_.remarks.applied(branch, "no BSSY/BSYNC: the branch is warp-uniform");
      else if (isPromised(b))
        context_.remarks.applied(branch, "no BSSY/BSYNC: one path needs all threads of the warp");
      else
        isDivergent[b] = true;
    }
    const ori::BarrierRange barriers = ori::usableBarriers(function_);
    firstBarrier_ = barriers.first;
    ori::ConvergencePlan plan =
        ori::planConvergence(cfg_, dominators_, postDominators_, loops_, barriers.count, isDivergent, true);
    std::set<BlockId> shared;
    for (const Region& region : plan.regions)
      if (region.isShared) shared.insert(region.meet);
    for (const ori::UnsyncedReconvergence& missed : plan.missed)
      if (shared.count(missed.meet) == 0)
        context_.remarks.missed(function_.block(missed.meet)->first,
                                missed.outOfBarriers ? "no BSSY/BSYNC: all convergence barriers are in use"
                                                     : "no BSSY/BSYNC: the control flow is not nested");
    // Inner regions first: an outer BSYNC before the same block is placed after the inner ones.
    std::stable_sort(plan.regions.begin(), plan.regions.end(), [&](const Region& a, const Region& b) {
      return dominators_.level(a.from) > dominators_.level(b.from);
    });
    leaveEarly(plan.regions);
    findPredecessors();
    for (const Region& region : plan.regions)
      insert(region);
    arrange();
    return !plan.regions.empty();
  }

 private:
  void findWaits() {
    waitsForAll_.assign(cfg_.idCount(), false);
    if (!function_.everHad(isa::Op::WARPSYNC_ALL)) return;
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block)
        if (instr.op == isa::Op::WARPSYNC_ALL && !instr.isGuarded()) waitsForAll_[block->id] = true;
  }

  /// Whether on some but not all paths from the block, lanes wait for the whole warp before the paths join. Such a
  /// program is correct only if all lanes that have not exited take that path together, or none does. A barrier is
  /// useless then, and would hang programs in which some lanes continue and exit (ptxas sets none, either). Where every
  /// path has such a wait, lanes may be at different ones.
  bool isPromised(BlockId branch) const {
    bool anyWaits = false, allWait = true;
    for (const BlockId s : cfg_.successors(branch)) {
      bool waits = false; // in a block that is control-dependent on this edge
      for (BlockId b = s; b != postDominators_.idom(branch) && b < cfg_.idCount() && !waits;
           b = postDominators_.idom(b))
        waits = waitsForAll_[b];
      anyWaits = anyWaits || waits;
      allWait = allWait && waits;
    }
    return anyWaits && !allWait;
  }

  /// Inserts BREAK on the edges that leave regions: under the condition of the branch, or in a separate block.
  void leaveEarly(const std::vector<Region>& regions) {
    std::map<ori::EdgeIds, std::vector<unsigned>> barriersOf;
    std::set<BlockId> meets;
    for (const Region& region : regions)
      meets.insert(region.meet);
    for (const Region& region : regions)
      for (const ori::EdgeIds& edge : region.leaving)
        if (meets.count(edge.second) != 0 || !endsAtOnce(*function_.block(edge.second)))
          barriersOf[edge].push_back(firstBarrier_ + region.barrier);
    const auto hasPlainCondition = [&](const Block& from) {
      const Instr* branch = ori::plainBranch(from);
      return branch && branch->guard().isReg(isa::File::P);
    };
    std::vector<ori::EdgeIds> split;
    for (const auto& [edge, barriers] : barriersOf)
      if (!hasPlainCondition(*function_.block(edge.first))) split.push_back(edge);
    const std::vector<Block*> middles = ori::splitEdges(function_, split);
    auto middle = middles.begin();
    for (const auto& [edge, barriers] : barriersOf) {
      Block* from = function_.block(edge.first);
      ori::Builder builder(function_);
      if (hasPlainCondition(*from)) {
        Operand guard = from->last->guard().value();
        if (from->fallthrough == edge.second) guard.flags ^= Operand::kNot;
        builder = ori::Builder::before(function_, from->last);
        builder.setGuard(guard);
      } else {
        splitFrom_[(*middle)->id] = edge.first;
        builder = ori::Builder(function_, *middle++);
      }
      if (from->last) builder.setSource(from->last->source);
      for (unsigned barrier : barriers)
        builder.emit(isa::Op::BREAK, {Operand::pt(), Operand::physical(isa::File::B, barrier)});
      context_.remarks.applied(from->last, "BREAK: threads that exit early are not waited for",
                               static_cast<int>(barriers.size()));
    }
  }

  /// Whether the block ends the threads at once: exited threads are not waited for, and a trap ends all of them.
  static bool endsAtOnce(const Block& block) {
    const Instr* first = block.first;
    if (!first || first->isGuarded()) return false;
    constexpr unsigned kTrap = 3; // of BPT's kinds
    return first->op == isa::Op::EXIT ||
           (first->op == isa::Op::BPT && isa::getMod(first->op, first->mods, isa::Mod::Sub) == kTrap);
  }

  void insert(const Region& region) {
    Block* from = function_.block(region.from);
    Block* meet = function_.block(region.meet);
    const Operand barrier = Operand::physical(isa::File::B, firstBarrier_ + region.barrier);

    // The BSYNC gets a separate block; BSSY refers to the block after it (observed).
    Block* sync = function_.newBlock();
    before_[meet->id] = sync;
    for (BlockId p : predecessors_[meet->id])
      if (!isBackEdge(p, region.meet)) ori::redirectEdge(function_, function_.block(p), meet, sync);
    sync->fallthrough = meet->id;
    sync->loopDepth = from->loopDepth;
    ori::Builder atSync(function_, sync);
    if (meet->first) atSync.setSource(meet->first->source);
    atSync.emit(isa::Op::BSYNC, {Operand::pt(), barrier});

    ori::Builder atFrom = whereBarriersAreSet(from);
    atFrom.emit(isa::Op::BSSY, {Operand::pt(), barrier, Operand::label(meet->id)});
    context_.remarks.applied(from->last, "BSSY/BSYNC: threads that diverge here reconverge", 2);
  }

  /// Where a block sets barriers: before its branch, and before a BREAK under the condition of that branch.
  ori::Builder whereBarriersAreSet(Block* block) {
    ori::Instr* end = block->last && ori::isTerminator(block->last->op) ? block->last : nullptr;
    while (end && end->prev && end->prev->op == isa::Op::BREAK)
      end = end->prev;
    return end ? ori::Builder::before(function_, end) : ori::Builder(function_, block);
  }

  /// Blocks made by earlier insertions are not in the analyses; the source block of the split edge is used instead.
  bool isBackEdge(BlockId p, BlockId meet) const {
    if (const auto split = splitFrom_.find(p); split != splitFrom_.end()) p = split->second;
    return p < cfg_.idCount() && cfg_.isReachable(p) && cfg_.isRetreating(p, meet);
  }

  /// Each block is the reconvergence point of at most one region, so edges that insert changes are not queried again.
  void findPredecessors() {
    predecessors_.assign(function_.blockIdCount(), {});
    before_.assign(function_.blockIdCount(), nullptr);
    for (const Block* b : function_.layout())
      function_.forEachSuccessor(*b, [&](BlockId s) { predecessors_[s].push_back(b->id); });
  }

  /// Moves the blocks of the BSYNCs from the end of the layout to their positions.
  void arrange() {
    std::vector<Block*> order;
    for (Block* block : function_.layout()) {
      if (block->id >= before_.size()) break; // a new block
      if (before_[block->id]) order.push_back(before_[block->id]);
      order.push_back(block);
    }
    function_.setLayout(std::move(order));
  }

  Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::DomTree& postDominators_;
  const ori::Loops& loops_;
  std::vector<bool> waitsForAll_; ///< by block: has a WARPSYNC.ALL
  unsigned firstBarrier_ = 0;
  std::map<BlockId, BlockId> splitFrom_;           ///< for blocks on edges, the block that the edge came from
  std::vector<std::vector<BlockId>> predecessors_; ///< by block
  std::vector<Block*> before_;                     ///< by block: the BSYNC before it
};

} // namespace

/// Phase 99. Makes the sides of divergent branches reconverge: BSSY at a block that dominates them, BSYNC before the
/// block that post-dominates them, BREAK where lanes leave a region from its middle (public notes on sm_90: bssy.md,
/// bsync.md, break.md; the placement of all three was observed). Branches to code that waits for the whole warp get
/// none. Barriers are numbered here: their nesting is known now, and no allocation heuristic applies to them.
bool oriDoSyncronization(Function& function, PhaseContext& context) {
  return Synchroniser(function, context).run();
}

} // namespace orias::phases

#include "phases/phases.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/cfg.h"
#include "ori/analysis/dominators.h"
#include "ori/analysis/loops.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"

#include <algorithm>
#include <map>

namespace orias::phases {

using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Function;
using ori::Instr;
using ori::kNoId;

namespace {

/// One pair of BSSY and BSYNC: threads that leave `from` on different ways meet in front of `meet`.
struct Region {
  BlockId from;
  BlockId meet;
  unsigned barrier = 0;
};

class Synchroniser {
 public:
  Synchroniser(Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function), dominators_(ori::DomTree::dominators(cfg_)),
        postDominators_(ori::DomTree::postDominators(cfg_)), loops_(cfg_, dominators_) {}

  bool run() {
    std::vector<Region> regions = findRegions();
    assignBarriers(regions);
    // Inner regions first: an outer BSYNC in front of the same block goes behind the inner ones.
    std::stable_sort(regions.begin(), regions.end(), [&](const Region& a, const Region& b) {
      return dominators_.level(a.from) > dominators_.level(b.from);
    });
    for (const Region& region : regions)
      insert(region);
    return !regions.empty();
  }

 private:
  bool mayDiverge(const Block& block) const {
    const Instr* last = block.last;
    if (!last || !ori::isTerminator(last->op) || cfg_.successors(block.id).size() < 2) return false;
    return !isa::desc(last->op).has(isa::Flag::Uniform);
  }

  /// The loop that a BSYNC in front of `meet` belongs to: in front of a header is outside of its loop.
  ori::LoopId loopInFrontOf(BlockId meet) const {
    ori::LoopId loop = loops_.innermost(meet);
    return loop != kNoId && loops_.isHeader(meet) ? loops_.loop(loop).parent : loop;
  }

  /// For each block where sides of divergent branches meet, one region that covers all of those branches.
  std::vector<Region> findRegions() {
    std::map<BlockId, BlockId> regionOf; // meet -> from
    for (BlockId b : cfg_.reversePostOrder()) {
      if (!mayDiverge(*function_.block(b))) continue;
      const BlockId meet = postDominators_.idom(b);
      if (meet == kNoId || meet == postDominators_.root()) continue; // nothing but the end of the program
      auto [at, isNew] = regionOf.emplace(meet, b);
      if (!isNew) at->second = dominators_.commonDominator(at->second, b);
    }
    std::vector<Region> regions;
    for (auto [meet, from] : regionOf) {
      BlockId d = from;
      // The barrier is set once for each time that it is waited for: both ends stand in the same loop.
      while (d != kNoId && loops_.innermost(d) != loopInFrontOf(meet))
        d = dominators_.idom(d);
      // Every thread that sets it comes to wait for it (or exits), and nobody waits who has not set it.
      const bool sound = d != kNoId && d != meet && dominators_.strictlyDominates(d, meet) &&
                         postDominators_.strictlyDominates(meet, d) && entriesComeFrom(d, meet);
      if (sound)
        regions.push_back({d, meet});
      else
        context_.remarks.refused(function_.block(meet)->first,
                                 "threads do not reconverge here: the code is not nested");
    }
    return regions;
  }

  /// All ways into `meet`, but for the back edges of its own loop, come from blocks under `d`.
  bool entriesComeFrom(BlockId d, BlockId meet) const {
    for (BlockId p : cfg_.predecessors(meet))
      if (!dominators_.dominates(d, p) || (cfg_.isRetreating(p, meet) && !loops_.isHeader(meet))) return false;
    return true;
  }

  /// Gives each region the lowest barrier that no region uses which can be under way at the same time. A barrier
  /// belongs to the warp, and the sides of a branch run in any order, so that is every region but those that one has to
  /// leave before entering the other. Where 16 barriers are not enough, the threads stay diverged, which is slower, not
  /// wrong.
  void assignBarriers(std::vector<Region>& regions) {
    std::stable_sort(regions.begin(), regions.end(), [&](const Region& a, const Region& b) {
      return dominators_.preorderIndex(a.from) < dominators_.preorderIndex(b.from);
    });
    const unsigned count = context_.target.registerCount(isa::File::B);
    std::vector<Region> kept;
    for (Region r : regions) {
      std::uint32_t taken = 0;
      for (const Region& other : kept) {
        const bool oneBehindTheOther =
            dominators_.dominates(other.meet, r.from) || dominators_.dominates(r.meet, other.from);
        if (!oneBehindTheOther) taken |= 1u << other.barrier;
      }
      while (taken >> r.barrier & 1)
        ++r.barrier;
      if (r.barrier < count)
        kept.push_back(r);
      else
        context_.remarks.refused(function_.block(r.meet)->first,
                                 "threads do not reconverge here: all barriers are in use");
    }
    regions = std::move(kept);
  }

  void insert(const Region& region) {
    Block* from = function_.block(region.from);
    Block* meet = function_.block(region.meet);
    const Operand barrier = Operand::physical(isa::File::B, region.barrier);

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
};

} // namespace

/// Phase 99. Makes the sides of divergent branches meet again: BSSY at a block that dominates them, BSYNC in front of
/// the block that post-dominates them (public notes on sm_90: bssy.md, bsync.md; the placement of both was observed).
/// Barriers are given numbers here: their nesting is known now, and they have no use that allocation could weigh.
bool oriDoSyncronization(Function& function, PhaseContext& context) {
  return Synchroniser(function, context).run();
}

} // namespace orias::phases

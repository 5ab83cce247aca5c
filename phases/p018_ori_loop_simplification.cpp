#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/empty_loops.h"
#include "phases/loop_rotation.h"
#include "phases/loop_tests.h"
#include "phases/phases.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace orias::phases {

using ori::Block;
using ori::BlockId;
using ori::LoopId;

namespace {

class Simplifier {
 public:
  Simplifier(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()) {}

  bool run() {
    if (loops_.all().empty()) return false;
    if (!loops_.isReducible()) {
      context_.remarks.missed(function_.block(loops_.irreducibleEdges().front().second)->last,
                              "loops not simplified: the function has an irreducible loop");
      return false;
    }
    before_.assign(function_.blockIdCount(), nullptr);
    after_.assign(function_.blockIdCount(), {});
    bool changed = false;
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop) {
      changed |= giveEntry(loop);
      changed |= giveLatch(loop);
    }
    if (changed) arrange();
    return changed;
  }

 private:
  /// Adds a preheader if the loop has several entry edges.
  bool giveEntry(LoopId id) {
    const ori::Loop& loop = loops_.loop(id);
    Block* header = function_.block(loop.header);
    std::vector<BlockId> entries;
    for (BlockId p : cfg_.predecessors(loop.header))
      if (cfg_.isReachable(p) && !loops_.contains(id, p)) entries.push_back(p);
    const std::size_t ways = entries.size() + (loop.header == cfg_.entry() ? 1 : 0);
    if (ways < 2 && loop.header != cfg_.entry()) return false;
    Block* front = newBlock(*header, loop.depth - 1);
    for (BlockId p : entries)
      ori::redirectEdge(function_, function_.block(p), header, front);
    before_[loop.header] = front;
    context_.remarks.applied(header->last, "inserted a preheader", static_cast<int>(ways));
    return true;
  }

  /// Merges several backedges into one through a new latch.
  bool giveLatch(LoopId id) {
    const ori::Loop& loop = loops_.loop(id);
    if (loop.latches.size() < 2) return false;
    Block* header = function_.block(loop.header);
    if (!goesApart(id)) {
      context_.remarks.missed(header->last, "back edges not merged: they are warp-uniform");
      return false;
    }
    Block* latch = newBlock(*header, loop.depth);
    for (BlockId from : loop.latches)
      ori::redirectEdge(function_, function_.block(from), header, latch);
    after_[lastOf(loop.latches)].push_back(latch);
    context_.remarks.applied(header->last, "merged the back edges into one latch",
                             static_cast<int>(loop.latches.size()));
    return true;
  }

  bool goesApart(LoopId id) {
    if (!divergence_) divergence_ = &function_.analyses().divergence();
    const auto blocks = loops_.blocks(id);
    return std::any_of(blocks.begin(), blocks.end(), [&](BlockId b) { return divergence_->branchesApart(b); });
  }

  Block* newBlock(const Block& header, std::uint32_t depth) {
    Block* block = function_.newBlock();
    block->fallthrough = header.id;
    block->loopDepth = static_cast<std::uint8_t>(std::min<std::uint32_t>(depth, 255));
    return block;
  }

  /// Returns the block that is last in the layout.
  BlockId lastOf(const std::vector<BlockId>& ids) {
    if (place_.empty()) {
      place_.resize(function_.blockIdCount());
      for (std::size_t i = 0; i < function_.layout().size(); ++i)
        place_[function_.layout()[i]->id] = i;
    }
    return *std::max_element(ids.begin(), ids.end(), [&](BlockId a, BlockId b) { return place_[a] < place_[b]; });
  }

  /// Moves the new blocks from the end of the layout to their positions.
  void arrange() {
    std::vector<Block*> order;
    for (Block* block : function_.layout()) {
      if (block->id >= before_.size()) break; // a new block
      if (before_[block->id]) order.push_back(before_[block->id]);
      order.push_back(block);
      // The inner loop's latch comes first; loops are visited from the outside in.
      order.insert(order.end(), after_[block->id].rbegin(), after_[block->id].rend());
    }
    function_.setLayout(std::move(order));
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const ori::Divergence* divergence_ = nullptr;
  std::vector<std::size_t> place_;         ///< by block, in the layout
  std::vector<Block*> before_;             ///< by header: the new preheader
  std::vector<std::vector<Block*>> after_; ///< by block: the new latches, one for each loop whose last block it is
};

} // namespace

/// Phase 18. Brings loops into the form that later phases work on. A loop has one entering block, to which invariants
/// may be hoisted (22 and 66 skip loops with several entries). It has one backedge: threads that `continue` and threads
/// at the end of the iteration reconverge at the latch. Otherwise each group would run its own iterations, as a header
/// cannot have a convergence barrier. From -O1 on, loops are rotated so that tests are at the bottom, as 22 and 24
/// require, and compare counters with limits. Loops that compute nothing are deleted.
bool oriLoopSimplification(ori::Function& function, PhaseContext& context) {
  bool changed = context.optLevel > 0 && removeEmptyLoops(function, context);
  changed |= Simplifier(function, context).run();
  if (context.optLevel > 0) {
    changed |= rotateLoops(function, context);
    changed |= orientLoopTests(function);
  }
  return changed;
}

} // namespace orias::phases

#include "phases/loop_rotation.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/copy_block.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace orias::phases {

namespace {

using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

/// The most header instructions that are copied.
constexpr unsigned kMaxCopied = 24;

/// A loop that begins with its test.
struct Candidate {
  Block* header = nullptr;
  Block* latch = nullptr;
  Block* body = nullptr; ///< the successor of the header in the loop
  Block* exit = nullptr; ///< the successor of the header outside the loop
};

class Rotator {
 public:
  Rotator(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()), loops_(function.analyses().loops()) {}

  bool run() {
    if (!loops_.isReducible()) return false;
    isTouched_.assign(function_.blockIdCount(), false);
    std::vector<Candidate> candidates;
    // Inner loops first: they follow the loops around them.
    for (LoopId loop = static_cast<LoopId>(loops_.all().size()); loop-- > 0;)
      if (const std::optional<Candidate> candidate = find(loop)) {
        candidates.push_back(*candidate);
        for (const Block* block : {candidate->header, candidate->latch, candidate->body, candidate->exit})
          isTouched_[block->id] = true;
        for (BlockId p : cfg_.predecessors(candidate->header->id))
          isTouched_[p] = true;
      }
    for (const Candidate& candidate : candidates)
      rotate(candidate);
    return !candidates.empty();
  }

 private:
  std::optional<Candidate> find(LoopId id) const {
    const ori::Loop& loop = loops_.loop(id);
    if (loop.latches.size() != 1 || loop.latches[0] == loop.header || loop.header == cfg_.entry()) return std::nullopt;
    Candidate found;
    found.header = function_.block(loop.header);
    found.latch = function_.block(loop.latches[0]);
    const Instr* branch = ori::plainBranch(*found.header);
    if (!branch || !branch->isGuarded() || found.header->fallthrough == ori::kNoId) return std::nullopt;
    if (cfg_.successors(found.latch->id).size() != 1) return std::nullopt; // it has a test at the end already
    const auto successors = cfg_.successors(found.header->id);
    if (successors.size() != 2) return std::nullopt;
    for (BlockId s : successors)
      (loops_.contains(id, s) ? found.body : found.exit) = function_.block(s);
    if (!found.body || !found.exit || isTouched_[found.body->id] || isTouched_[found.exit->id]) return std::nullopt;
    for (BlockId p : cfg_.predecessors(loop.header))
      if (isTouched_[p] || isTouched_[loop.header]) return std::nullopt; // left to a later iteration
    // The body becomes the header, so it must be a block of its own with no other predecessor.
    if (cfg_.predecessors(found.body->id).size() != 1) return std::nullopt;
    unsigned size = 0;
    for (const Instr& instr : *found.header) {
      const isa::InstrDesc& row = isa::desc(instr.op);
      if (&instr != branch && (row.has(isa::Flag::Convergent) || row.has(isa::Flag::WarpWide))) return std::nullopt;
      if (++size > kMaxCopied) return std::nullopt;
    }
    return found;
  }

  void rotate(const Candidate& c) {
    context_.remarks.applied(c.header->last, "rotated: the test is at the bottom", 0);
    Block* guard = function_.newBlock(c.header->name);
    copyBlock(function_, *c.header, guard, [](BlockId id) { return id; });
    guard->loopDepth = c.header->loopDepth > 0 ? c.header->loopDepth - 1 : 0;
    std::vector<Block*> entries;
    for (BlockId p : cfg_.predecessors(c.header->id))
      if (p != c.latch->id && cfg_.isReachable(p)) entries.push_back(function_.block(p));
    for (Block* entry : entries)
      ori::redirectEdge(function_, entry, c.header, guard);
    // If the exit is the header of a surrounding loop, two edges from here would be two backedges of that loop: join
    // them first.
    Block* join = nullptr;
    if (loops_.isHeader(c.exit->id)) {
      join = function_.newBlock();
      join->fallthrough = c.exit->id;
      join->loopDepth = guard->loopDepth;
      ori::redirectEdge(function_, guard, c.exit, join);
      ori::redirectEdge(function_, c.header, c.exit, join);
    }
    branchToStay(c.header, c.body);
    std::vector<Block*> order;
    for (Block* block : function_.layout()) {
      if (block == guard || block == join) continue;
      order.push_back(block == c.header ? guard : block);
      if (block == c.latch) {
        order.push_back(c.header);
        if (join) order.push_back(join);
      }
    }
    function_.setLayout(std::move(order));
  }

  /// Inverts a condition, so that lanes that stay in the loop take the branch.
  void branchToStay(Block* header, const Block* body) {
    if (header->fallthrough != body->id) return;
    Instr* branch = header->last;
    for (unsigned i = 0; i < branch->operandCount; ++i) {
      if (!branch->op_(i).isLabel()) continue;
      header->fallthrough = branch->op_(i).reg;
      function_.setOperand(branch, i, isa::Operand::label(body->id));
    }
    function_.setGuard(branch, branch->guard().value().notted());
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::Loops& loops_;
  std::vector<bool> isTouched_; ///< by block: a pending rotation changes its edges
};

} // namespace

bool rotateLoops(ori::Function& function, PhaseContext& context) {
  // Each iteration rotates loops that do not share blocks. None is rotated twice, as its test is at the bottom then.
  bool changed = false;
  while (Rotator(function, context).run())
    changed = true;
  if (changed) ori::mergeBlocks(function); // the test becomes the end of the body's last block
  return changed;
}

} // namespace orias::phases

#include "ori/cfg_edit.h"

#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/builder.h"
#include "support/check.h"

#include <algorithm>

namespace orias::ori {

namespace {

/// Redirects the edges from `from` to `to` to `newTo`. Does not change phis.
void retarget(Function& function, Block* from, BlockId to, BlockId newTo) {
  if (from->last && isTerminator(from->last->op))
    for (unsigned i = 0; i < from->last->operandCount; ++i)
      if (from->last->op_(i).isLabel() && from->last->op_(i).reg == to)
        function.setOperand(from->last, i, isa::Operand::label(newTo));
  if (from->fallthrough == to) from->fallthrough = newTo;
}

unsigned labelSlot(const Instr& branch) {
  for (unsigned i = 0; i < branch.operandCount; ++i)
    if (branch.op_(i).isLabel()) return i;
  ORIAS_UNREACHABLE("a branch without a label");
}

/// Whether the terminator of a block with one successor can be deleted. That of a branch can. A guarded EXIT or RET
/// ends some threads, and an instruction that lets other threads run first must end its block.
bool onlyGoesOn(const Block& block) {
  if (!block.last || block.last->op == Op::BRA) return true;
  return !isTerminator(block.last->op) && !letsOthersRun(block.last->op);
}

/// Moves the instructions of `to`, the only successor of `from`, to `from`.
void absorb(Function& function, Block* from, Block* to) {
  if (from->last && isTerminator(from->last->op)) function.erase(from->last);
  function.forEachSafe(*to, [&](Instr& instr) {
    function.unlink(&instr);
    if (instr.op == Op::PHI) {
      Builder builder(function, from);
      builder.setSource(instr.source);
      if (!instr.op_(1).isNone()) builder.copy(instr.op_(0).value(), instr.op_(1).value());
      function.erase(&instr);
    } else {
      function.append(from, &instr);
    }
  });
  from->fallthrough = to->fallthrough;
  function.forEachSuccessor(*from,
                            [&](BlockId next) { function.renamePhiSource(function.block(next), to->id, from->id); });
}

} // namespace

Instr* plainBranch(const Block& block) {
  Instr* last = block.last;
  if (!last || last->op != Op::BRA) return nullptr;
  for (const Operand& operand : last->ops())
    if (!operand.isLabel() && !operand.isNone() && !(operand.isZeroReg() && !operand.inverted())) return nullptr;
  return last;
}

void removePhiSource(Function& function, Block* block, BlockId predecessor) {
  for (Instr& phi : *block) {
    if (phi.op != Op::PHI) break;
    for (unsigned i = phi.operandCount; i-- > 2;)
      if (phi.op_(i).isLabel() && phi.op_(i).reg == predecessor) function.removeOperands(&phi, i - 1, 2);
  }
}

const isa::Operand* phiValueFrom(const Instr& phi, BlockId predecessor) {
  for (unsigned i = 1; i + 1 < phi.operandCount; i += 2)
    if (phi.op_(i + 1).reg == predecessor) return &phi.op_(i).value();
  return nullptr;
}

void redirectEdge(Function& function, Block* from, Block* to, Block* newTo) {
  if (to == newTo) return;
  retarget(function, from, to->id, newTo->id);
  removePhiSource(function, to, from->id);
}

std::vector<Block*> splitEdges(Function& function, std::span<const EdgeIds> edges) {
  const std::vector<Block*> order = function.layout();
  std::vector<std::vector<Block*>> after(function.blockIdCount());
  std::vector<Block*> made;
  for (const auto& [fromId, toId] : edges) {
    Block* from = function.block(fromId);
    Block* to = function.block(toId);
    const bool falls = from->fallthrough == toId;
    Block* middle = function.newBlock();
    middle->loopDepth = std::min(from->loopDepth, to->loopDepth);
    middle->fallthrough = toId;
    retarget(function, from, toId, middle->id);
    function.renamePhiSource(to, fromId, middle->id);
    // Of several new blocks, the one that `from` falls through to comes first.
    after[fromId].insert(falls ? after[fromId].begin() : after[fromId].end(), middle);
    made.push_back(middle);
  }
  std::vector<Block*> layout;
  layout.reserve(order.size() + made.size());
  for (Block* block : order) {
    layout.push_back(block);
    layout.insert(layout.end(), after[block->id].begin(), after[block->id].end());
  }
  function.setLayout(std::move(layout));
  return made;
}

Block* splitEdge(Function& function, Block* from, Block* to) {
  const EdgeIds edge{from->id, to->id};
  return splitEdges(function, std::span(&edge, 1)).front();
}

std::vector<EdgeIds> criticalEdges(const Function& function) {
  std::vector<EdgeIds> edges;
  const Cfg& cfg = function.analyses().cfg();
  for (const Block* block : function.layout()) {
    const auto successors = cfg.successors(block->id);
    if (successors.size() < 2) continue;
    for (BlockId to : successors)
      // The entry has an additional predecessor: the caller.
      if (cfg.predecessors(to).size() + (to == cfg.entry() ? 1u : 0u) > 1) edges.emplace_back(block->id, to);
  }
  return edges;
}

bool splitCriticalEdges(Function& function) {
  const std::vector<EdgeIds> edges = criticalEdges(function);
  splitEdges(function, edges);
  return !edges.empty();
}

bool removeUnreachableBlocks(Function& function) {
  const Cfg& cfg = function.analyses().cfg();
  std::vector<bool> doomed(function.blockIdCount());
  bool any = false;
  for (const Block* block : function.layout()) {
    if (cfg.isReachable(block->id)) continue;
    doomed[block->id] = any = true;
    for (BlockId to : cfg.successors(block->id))
      if (cfg.isReachable(to)) removePhiSource(function, function.block(to), block->id);
  }
  if (any) function.eraseBlocks(doomed);
  return any;
}

bool mergeBlocks(Function& function) {
  const Cfg& cfg = function.analyses().cfg();
  std::vector<bool> gone(function.blockIdCount());
  bool any = false;
  for (Block* block : function.layout()) {
    if (gone[block->id]) continue;
    // Follow the chain: the successor of the block that was just merged is the next candidate. `cfg` has the old edges,
    // which are those of the last block of the chain.
    BlockId end = block->id;
    while (cfg.successors(end).size() == 1 && onlyGoesOn(*block)) {
      const BlockId next = cfg.successors(end).front();
      if (next == cfg.entry() || next == block->id || gone[next] || cfg.predecessors(next).size() != 1) break;
      absorb(function, block, function.block(next));
      gone[next] = any = true;
      end = next;
    }
  }
  if (any) function.eraseBlocks(gone);
  return any;
}

namespace {

/// Whether one block executes less often than another, judged by loop depth and cold blocks.
bool isColder(const Block& a, const Block& b) {
  return a.isCold != b.isCold ? a.isCold : a.loopDepth < b.loopDepth;
}

} // namespace

bool makeFallthroughsAdjacent(Function& function) {
  bool isChanged = false;
  std::vector<Block*> layout;
  const std::vector<Block*> order = function.layout();
  for (std::size_t i = 0; i < order.size(); ++i) {
    Block* block = order[i];
    layout.push_back(block);
    const BlockId next = i + 1 < order.size() ? order[i + 1]->id : kNoId;
    Instr* branch = plainBranch(*block);
    if (branch && !branch->isGuarded() && block->fallthrough == kNoId && next != kNoId &&
        branch->op_(labelSlot(*branch)).reg == next) {
      function.erase(branch);
      block->fallthrough = next;
      isChanged = true;
    }
    if (block->fallthrough == kNoId || block->fallthrough == next) continue;
    isChanged = true;
    branch = plainBranch(*block);
    if (branch && branch->isGuarded()) {
      // A branch falls through to the target that is the next block. If neither is, the conditional branch goes to the
      // target that executes more often, and the other target costs a second branch.
      const BlockId taken = branch->op_(labelSlot(*branch)).reg;
      if (taken == next || isColder(*function.block(taken), *function.block(block->fallthrough))) {
        function.setGuard(branch, branch->guard().value().notted());
        function.setOperand(branch, labelSlot(*branch), isa::Operand::label(block->fallthrough));
        block->fallthrough = taken;
      }
      if (taken == next) continue;
    }
    const BlockId target = block->fallthrough;
    Block* at = block;
    if (block->last && isTerminator(block->last->op)) {
      at = function.newBlock();
      at->loopDepth = block->loopDepth;
      block->fallthrough = at->id;
      function.renamePhiSource(function.block(target), block->id, at->id);
      layout.push_back(at);
    }
    Builder builder(function, at);
    if (block->last) builder.setSource(block->last->source);
    builder.branch(function.block(target));
    at->fallthrough = kNoId;
  }
  function.setLayout(std::move(layout));
  return isChanged;
}

} // namespace orias::ori

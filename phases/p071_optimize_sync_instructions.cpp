#include "encoder/isa/desc.h"
#include "ori/analysis/divergence.h"
#include "phases/optimize/rewriter.h"
#include "phases/phases.h"

namespace orias::phases {

using isa::Op;
using ori::Instr;

namespace {

/// Waits for all lanes of the warp.
bool waitsForAll(const Rewriter& rw, const Instr& instr) {
  if (instr.isGuarded()) return false;
  if (instr.op != Op::WARPSYNC && instr.op != Op::WARPSYNC_ALL) return false;
  const isa::Operand condition = instr.op_(0).value();
  if (!condition.isNone() && rw.truthOf(condition) != true) return false;
  return instr.op == Op::WARPSYNC_ALL || rw.constantOf(instr.op_(1).value()) == ~0u;
}

/// Lanes may go on apart from there: after waiting for some of them only, or in a function of which nothing is known.
bool parts(const Rewriter& rw, const ori::Block& block) {
  for (const Instr& instr : block) {
    const bool isSync = instr.op == Op::WARPSYNC || instr.op == Op::WARPSYNC_ALL;
    if (instr.op == Op::CALL_EXTERN || (isSync && !waitsForAll(rw, instr))) return true;
  }
  return false;
}

/// Blocks that lie behind a branch on which lanes may part, wherever they meet again: a convergence barrier brings
/// them together, but the machine does not promise that they stay in step from there on.
std::vector<bool> blocksBehindDivergence(const Rewriter& rw, const ori::Cfg& cfg, const ori::Divergence& divergence) {
  std::vector<bool> isBehind(cfg.idCount());
  std::vector<ori::BlockId> next;
  const auto reach = [&](ori::BlockId from) {
    for (const ori::BlockId to : cfg.successors(from))
      if (!isBehind[to]) {
        isBehind[to] = true;
        next.push_back(to);
      }
  };
  for (const ori::BlockId id : cfg.reversePostOrder()) {
    const bool isParting = parts(rw, *cfg.function().block(id));
    if (isParting) isBehind[id] = true;
    if (isParting || divergence.branchesApart(id)) reach(id);
  }
  while (!next.empty()) {
    const ori::BlockId id = next.back();
    next.pop_back();
    reach(id);
  }
  return isBehind;
}

/// The instruction is there for the sake of one that works on the whole warp, and not to order memory: that one
/// comes before any access.
bool servesWarpOperation(const Instr& sync) {
  for (const Instr* instr = sync.next; instr; instr = instr->next) {
    const isa::InstrDesc& row = isa::desc(instr->op);
    if (row.has(isa::Flag::Load) || row.has(isa::Flag::Store) || row.has(isa::Flag::Atomic)) return false;
    if (!row.has(isa::Flag::Convergent)) continue;
    return row.pipe != isa::Pipe::Cbu && !row.isPseudo();
  }
  return false;
}

} // namespace

/// Phase 71. A WARPSYNC for all lanes goes where no branch has parted them since the kernel began: they are together
/// as it is. What is there to order memory (bar.warp.sync) stays. ptxas 13.0 leaves out the same ones (observed).
bool optimizeSyncInstructions(ori::Function& function, PhaseContext& context) {
  const ori::Cfg cfg(function);
  const ori::Divergence divergence(cfg);
  const Rewriter rw(function);
  const std::vector<bool> isBehind = blocksBehindDivergence(rw, cfg, divergence);
  std::vector<Instr*> needless;
  for (ori::Block* block : function.layout())
    for (Instr& instr : *block) {
      if (!waitsForAll(rw, instr)) continue;
      if (isBehind[block->id])
        context.remarks.refused(&instr, "the lanes may have parted before");
      else if (!servesWarpOperation(instr))
        context.remarks.refused(&instr, "it orders memory");
      else
        needless.push_back(&instr);
    }
  for (Instr* instr : needless) {
    context.remarks.did(instr, "no branch has parted the lanes: there is nobody to wait for");
    function.erase(instr);
  }
  return !needless.empty();
}

} // namespace orias::phases

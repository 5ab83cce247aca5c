#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "phases/optimize/rewriter.h"
#include "phases/phases.h"
#include "regalloc/calls.h"

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

/// What an instruction does to lanes that run together, or apart.
enum class Effect : std::uint8_t { None, Parts, Gathers };

/// Lanes may go on apart after waiting for some of them only, or in a function of which nothing is known.
Effect effectOf(const Rewriter& rw, const Instr& instr) {
  if (regalloc::isCall(instr)) return Effect::Parts;
  if (instr.op != Op::WARPSYNC && instr.op != Op::WARPSYNC_ALL) return Effect::None;
  return waitsForAll(rw, instr) ? Effect::Gathers : Effect::Parts;
}

/// Blocks that lanes may come to apart: those behind a branch on which they may part, wherever they meet again, up to
/// where all have waited for each other. A convergence barrier brings them together, but the machine does not promise
/// that they stay in step from there on.
std::vector<bool> blocksBehindDivergence(const Rewriter& rw, const ori::Cfg& cfg, const ori::Divergence& divergence) {
  std::vector<Effect> effects(cfg.idCount(), Effect::None);
  std::vector<bool> isBehind(cfg.idCount(), ori::mayRunApart(cfg.function()));
  std::vector<ori::BlockId> next;
  const auto reach = [&](ori::BlockId from) {
    for (const ori::BlockId to : cfg.successors(from))
      if (!isBehind[to]) {
        isBehind[to] = true;
        next.push_back(to);
      }
  };
  for (const ori::BlockId id : cfg.reversePostOrder()) {
    for (const Instr& instr : *cfg.function().block(id))
      if (const Effect effect = effectOf(rw, instr); effect != Effect::None) effects[id] = effect;
    if (effects[id] == Effect::Parts || divergence.branchesApart(id)) reach(id);
  }
  while (!next.empty()) {
    const ori::BlockId id = next.back();
    next.pop_back();
    if (effects[id] != Effect::Gathers) reach(id);
  }
  return isBehind;
}

/// The instruction is there for the sake of one that works on the whole warp, and not to order memory: that one
/// comes before any access. One that is an access itself (LDSM, STSM) is of the same PTX instruction.
bool servesWarpOperation(const Instr& sync) {
  for (const Instr* instr = sync.next; instr; instr = instr->next) {
    const isa::InstrDesc& row = isa::desc(instr->op);
    if (row.has(isa::Flag::Load) || row.has(isa::Flag::Store) || row.has(isa::Flag::Atomic))
      return row.has(isa::Flag::Convergent) && sync.source.ptxLine != 0 && instr->source.ptxLine == sync.source.ptxLine;
    if (!row.has(isa::Flag::Convergent)) continue;
    return row.pipe != isa::Pipe::Cbu && !row.isPseudo();
  }
  return false;
}

} // namespace

/// Phase 71. A WARPSYNC for all lanes goes where they are together as it is: no branch has parted them since the kernel
/// began, or since all have waited for each other. What is there to order memory (bar.warp.sync) stays. ptxas 13.0
/// leaves out the same ones, and looks once in front of a row of shuffles for lanes that are missing (observed).
bool optimizeSyncInstructions(ori::Function& function, PhaseContext& context) {
  if (!function.everHad(Op::WARPSYNC) && !function.everHad(Op::WARPSYNC_ALL)) return false;
  const ori::Cfg& cfg = function.analyses().cfg();
  const ori::Divergence& divergence = function.analyses().divergence();
  const Rewriter rw(function);
  const std::vector<bool> isBehind = blocksBehindDivergence(rw, cfg, divergence);
  std::vector<Instr*> needless;
  for (ori::Block* block : function.layout()) {
    bool areTogether = !isBehind[block->id];
    for (Instr& instr : *block) {
      const Effect effect = effectOf(rw, instr);
      if (effect == Effect::Gathers) {
        if (!areTogether)
          context.remarks.refused(&instr, "the warp may have diverged");
        else if (!servesWarpOperation(instr))
          context.remarks.refused(&instr, "it orders memory");
        else
          needless.push_back(&instr);
      }
      if (effect != Effect::None) areTogether = effect == Effect::Gathers;
    }
  }
  for (Instr* instr : needless) {
    context.remarks.did(instr, "removed: the warp cannot have diverged");
    function.erase(instr);
  }
  return !needless.empty();
}

} // namespace orias::phases

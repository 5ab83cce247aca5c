#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/builder.h"
#include "phases/optimize/phis.h"
#include "phases/phases.h"
#include "phases/spin_loops.h"

namespace orias::phases {

using isa::Op;
using ori::Instr;

namespace {

/// Whether the instruction needs all lanes of the warp, which PTX promises (.aligned). Operations with a mask wait for
/// its lanes themselves.
bool needsWholeWarp(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (!row.has(isa::Flag::Convergent)) return false;
  if (instr.op == Op::UCGABAR_ARV || instr.op == Op::UCGABAR_WAIT) return true;
  const bool hasMask = instr.op == Op::SHFL || instr.op == Op::MATCH_ANY || instr.op == Op::MATCH_ALL;
  return row.pipe == isa::Pipe::Mma || (row.pipe == isa::Pipe::Lsu && !hasMask);
}

void yieldAtHeader(ori::Function& function, ori::BlockId header, PhaseContext& context) {
  ori::Block& block = *function.block(header);
  const Instr* first = afterPhis(block);
  ori::Builder builder = builderAfterPhis(function, block);
  if (first) builder.setSource(first->source);
  Instr* yield = builder.emit(Op::YIELD, {isa::Operand::pt()});
  if (first) function.splitAfter(yield);
  context.remarks.applied(yield, "YIELD: lanes of the warp may wait for each other in this loop", 1);
}

/// Finds the NANOSLEEPs. Sleeping yields as well.
std::vector<Instr*> findSleeps(const ori::Function& function) {
  std::vector<Instr*> sleeps;
  if (!function.everHad(Op::NANOSLEEP)) return sleeps;
  for (const ori::Block* block : function.layout())
    for (Instr& instr : *block)
      if (instr.op == Op::NANOSLEEP) sleeps.push_back(&instr);
  return sleeps;
}

/// Splits the block so that the instruction is alone in it, except for phis.
void isolate(ori::Function& function, Instr& instr) {
  if (instr.prev && instr.prev->op != Op::PHI) function.splitAfter(instr.prev);
  if (instr.next) function.splitAfter(&instr);
}

/// Makes lanes that reach the block at different times wait for each other before an instruction that needs them all.
void gatherFor(ori::Function& function, const ori::Block& block, PhaseContext& context) {
  bool areTogether = false;
  for (Instr* instr = block.first; instr; instr = instr->next) {
    if (instr->op == Op::WARPSYNC_ALL && !instr->isGuarded()) areTogether = true;
    if (areTogether || !needsWholeWarp(*instr)) continue;
    ori::Builder builder = ori::Builder::before(function, instr);
    builder.setSource(instr->source);
    builder.emit(Op::WARPSYNC_ALL, {isa::Operand::pt()})->mayContract = true;
    context.remarks.applied(instr, "WARPSYNC: lanes may have yielded before it", 1);
    areTogether = true;
  }
}

} // namespace

/// Phase 72. Inserts YIELD at the start of loops in which a lane may wait for another lane of its warp. YIELD lets the
/// other lanes run. Without it they would keep waiting at the convergence barrier after the loop, or before the branch
/// at which they diverged, and the kernel hangs (observed on H200). YIELD has a separate block, so that no phase moves
/// code across it, and so has NANOSLEEP, which yields, too (after either, ptxas 13.0 keeps no loop counter in a uniform
/// register). The lanes are diverged after it until a WARPSYNC.ALL (ori::blocksAfterYields), and wait for each other
/// before instructions that need all of them.
bool lateExpandSyncInstructions(ori::Function& function, PhaseContext& context) {
  std::vector<ori::BlockId> headers;
  for (const ori::LoopId loop : findSpinLoops(function))
    headers.push_back(function.analyses().loops().loop(loop).header);
  for (const ori::BlockId header : headers)
    yieldAtHeader(function, header, context);
  const std::vector<Instr*> sleeps = findSleeps(function);
  for (Instr* sleep : sleeps)
    isolate(function, *sleep);
  if (headers.empty() && sleeps.empty()) return false;
  const ori::Cfg& cfg = function.analyses().cfg();
  for (const auto& blocks : ori::blocksAfterYields(cfg, function.analyses().postDominators()))
    for (const ori::BlockId id : blocks)
      gatherFor(function, *function.block(id), context);
  return true;
}

} // namespace orias::phases

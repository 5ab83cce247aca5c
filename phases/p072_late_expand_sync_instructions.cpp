#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/phases.h"
#include "phases/spin_loops.h"

namespace orias::phases {

/// Phase 72. Loops in which a lane may wait for another lane of its warp begin with YIELD, which lets the others run:
/// without it those go on waiting at the convergence barrier behind the loop, or in front of the branch that parted
/// them, and the kernel hangs (observed on H200). YIELD has a block of its own, so that no phase moves code across it.
/// The lanes are apart behind it until a WARPSYNC.ALL (ori::blocksBehindYields).
bool lateExpandSyncInstructions(ori::Function& function, PhaseContext& context) {
  std::vector<ori::BlockId> headers;
  for (const ori::LoopId loop : findSpinLoops(function))
    headers.push_back(function.analyses().loops().loop(loop).header);
  for (const ori::BlockId id : headers) {
    ori::Instr* first = function.block(id)->first;
    while (first->op == isa::Op::PHI)
      first = first->next;
    ori::Builder builder = ori::Builder::before(function, first);
    builder.setSource(first->source);
    ori::Instr* yield = builder.emit(isa::Op::YIELD, {isa::Operand::pt()});
    function.splitAfter(yield);
    context.remarks.did(yield, "YIELD: lanes of the warp may wait for each other in this loop", 1);
  }
  return !headers.empty();
}

} // namespace orias::phases

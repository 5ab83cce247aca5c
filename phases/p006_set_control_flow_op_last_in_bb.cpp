#include "ori/function.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 6. Lowering and the expansions may leave a branch or exit in the middle of a block; the block is split after
/// it. Code after an unconditional one is dead; phase 15 deletes it.
bool setControlFlowOpLastInBB(ori::Function& function, PhaseContext&) {
  bool changed = false;
  // Blocks made by splitting follow directly in the layout, so the loop visits them next.
  for (std::size_t i = 0; i < function.layout().size(); ++i) {
    ori::Block* block = function.layout()[i];
    for (ori::Instr& instr : *block) {
      if (!ori::isTerminator(instr.op) || !instr.next) continue;
      const bool conditional = ori::isConditional(instr);
      function.splitAfter(&instr);
      if (!conditional) block->fallthrough = ori::kNoId;
      changed = true;
      break;
    }
  }
  return changed;
}

} // namespace orias::phases

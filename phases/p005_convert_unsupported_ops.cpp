#include "phases/expansion.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 5. Operations that the machine does not have become sequences of those that it has, in place and without
/// branches.
bool convertUnsupportedOps(ori::Function& function, PhaseContext&) {
  bool changed = false;
  for (ori::Block* block : function.layout())
    for (ori::Instr *instr = block->first, *next; instr; instr = next) {
      next = instr->next;
      switch (instr->op) {
      case isa::Op::IDIV:
      case isa::Op::IREM: expandIntegerDivision(function, instr); break;
      case isa::Op::FDIV:
      case isa::Op::FRCP:
      case isa::Op::FSQRT:
        if (isApproximation(*instr)) continue; // phase 8
        expandFloatMacro(function, instr);
        break;
      default: continue;
      }
      changed = true;
    }
  return changed;
}

} // namespace orias::phases

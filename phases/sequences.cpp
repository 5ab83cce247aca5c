#include "phases/sequences.h"

#include "ori/builder.h"

namespace orias::phases {

using isa::Op;
using isa::Operand;

namespace {

/// ptxas for sm_90 puts three loads that never happen in front of the first copy of a block, and does not say why; so
/// do we.
void idleBefore(ori::Function& function, ori::Instr* copy) {
  constexpr unsigned kLoads = 3;
  for (unsigned k = 0; k < kLoads; ++k) {
    ori::Builder builder = ori::Builder::before(function, copy);
    builder.setGuard(Operand::pt().notted());
    builder.emit(Op::LDS, {Operand::rz(), Operand::rz(), Operand(), Operand::immediate(0)});
  }
}

} // namespace

bool completeSequences(ori::Function& function) {
  bool changed = false;
  for (ori::Block* block : function.layout()) {
    bool hasCopy = false;
    for (ori::Instr *instr = block->first, *next; instr; instr = next) {
      next = instr->next;
      switch (instr->op) {
      case Op::LDGSTS:
        if (hasCopy) continue;
        hasCopy = true;
        idleBefore(function, instr);
        break;
      case Op::KEEP:
      case Op::CONV_ALLOC: function.erase(instr); break;
      default: continue;
      }
      changed = true;
    }
  }
  return changed;
}

} // namespace orias::phases

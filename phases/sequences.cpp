#include "phases/sequences.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"

namespace orias::phases {

using isa::Op;
using isa::Operand;

namespace {

/// The warps of the group arrive with their registers written; the product is done before anyone looks at its result.
void waitAround(ori::Function& function, ori::Instr* product) {
  ori::Builder before = ori::Builder::before(function, product);
  before.emit(Op::WARPGROUP_ARRIVE, {});
  const Operand zero = Operand::immediate(0);
  if (product->next)
    ori::Builder::before(function, product->next).emit(Op::WARPGROUP_DEPBAR, {zero, zero});
  else
    ori::Builder(function, product->block).emit(Op::WARPGROUP_DEPBAR, {zero, zero});
}

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
      if (isa::desc(instr->op).latencyClass == isa::LatencyClass::Gmma) {
        waitAround(function, instr);
        changed = true;
        continue;
      }
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

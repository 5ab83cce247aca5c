#include "encoder/isa/desc.h"
#include "phases/phases.h"

namespace orias::phases {

/// Phase 107. Removes moves of a register onto itself and NOPs, left over from allocation and expansion.
bool oriRemoveNopCode(ori::Function& function, PhaseContext&) {
  bool changed = false;
  for (ori::Block* block : function.layout())
    for (ori::Instr *instr = block->first, *next; instr; instr = next) {
      next = instr->next;
      const isa::InstrDesc& row = isa::desc(instr->op);
      bool useless = instr->op == isa::Op::NOP;
      if (row.has(isa::Flag::Copy) && instr->op_(0).isReg() && instr->op_(1).isReg()) {
        const ori::Operand &to = instr->op_(0), &from = instr->op_(1);
        useless = to.file == from.file && to.reg == from.reg && to.isVirtual() == from.isVirtual() &&
                  to.sub == from.sub && to.width == from.width && !from.neg() && !from.abs() && !from.inverted();
      }
      if (!useless) continue;
      function.erase(instr);
      changed = true;
    }
  return changed;
}

} // namespace orias::phases

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/phases.h"
#include "phases/sequences.h"
#include "support/check.h"

#include <vector>

namespace orias::phases {

using isa::File;
using isa::Operand;

namespace {

/// One 32-bit move (or one predicate).
void emitMove(ori::Builder& b, const Operand& to, const Operand& from) {
  if (to.isZeroReg()) return;
  switch (to.file) {
  case File::R: b.emit(isa::Op::MOV, {to, from}); break;
  case File::UR:
    if (from.isReg(File::R))
      b.emit(isa::Op::R2UR, {Operand::pt(), to, from});
    else
      b.emit(isa::Op::UMOV, {to, from});
    break;
  case File::UP:
    b.emit(isa::Op::UPLOP3, {to, Operand::zero(File::UP), Operand::zero(File::UP), Operand::zero(File::UP), from,
                             Operand::immediate(0xaa), Operand::immediate(0)});
    break;
  case File::P:
    // PT & PT & from: the table of "third input" is 0xaa.
    b.emit(from.isReg(File::UP) ? isa::Op::PLOP3_U : isa::Op::PLOP3,
           {to, Operand::pt(), Operand::pt(), Operand::pt(), from, Operand::immediate(0xaa), Operand::immediate(0)});
    break;
  default: ORIAS_UNREACHABLE("a copy of this register file");
  }
}

} // namespace

/// Phase 103. After allocation, copies of pairs and quads become moves of their 32-bit components, in an order in which
/// nothing is overwritten before it is read; copies of a register onto itself go. Then sequences are completed that
/// must stay together (sequences.h).
bool get64bRegComponents(ori::Function& function, PhaseContext&) {
  bool changed = false;
  for (ori::Block* block : function.layout())
    for (ori::Instr *instr = block->first, *next; instr; instr = next) {
      next = instr->next;
      if (instr->op != isa::Op::COPY) continue;
      const Operand to = instr->op_(0).value(), from = instr->op_(1).value();
      const bool same =
          to.isReg() && from.isReg() && to.file == from.file && to.reg == from.reg && !from.inverted() && !from.neg();
      if (!same) {
        ori::Builder b = ori::Builder::before(function, instr);
        b.setGuard(instr->guard().value());
        // Moving up, a run that overlaps must be copied from its end.
        const bool upwards = to.isReg() && from.isReg() && to.file == from.file && to.reg > from.reg;
        for (unsigned i = 0; i < to.width; ++i) {
          const unsigned at = upwards ? to.width - 1 - i : i;
          emitMove(b, ori::component(to, at), ori::component(from, at));
        }
      }
      function.erase(instr);
      changed = true;
    }
  changed |= completeSequences(function);
  return changed;
}

} // namespace orias::phases

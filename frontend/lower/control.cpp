// Branches and exits.

#include "frontend/lower/families.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

void lowerBra(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  const ori::Block* target = f.blockOf(ops[0].labelId());
  f.endBlock(f.b().emit(IsaOp::BRA, {IsaOperand::pt(), IsaOperand::label(target->id)}));
}

/// exit, and ret of a kernel.
void lowerExit(FunctionLowering& f, const Instruction&, const Form&) { f.endBlock(f.b().emit(IsaOp::EXIT, {})); }

} // namespace orias::ptx

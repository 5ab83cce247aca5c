// Branches and exits.

#include "frontend/lower/families.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

void lowerBra(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  const ori::Block* target = f.blockOf(ops[0].labelId());
  f.endBlock(f.b().emit(IsaOp::BRA, {IsaOperand::pt(), IsaOperand::label(target->id)}));
}

void FunctionLowering::enter(ori::Block* block) {
  if (blockIsOpen()) builder_.block()->fallthrough = block->id;
  startBlock(block);
}

void FunctionLowering::branchIf(IsaOperand condition, const ori::Block* target) {
  builder_.setGuard(condition);
  const ori::Instr* jump = builder_.emit(IsaOp::BRA, {IsaOperand::pt(), IsaOperand::label(target->id)});
  builder_.setGuard(IsaOperand::pt());
  endBlock(jump);
}

ori::Block* FunctionLowering::beginUnguarded() {
  if (current_->guard == RegisterId::None) return nullptr;
  ori::Block* join = newBlock();
  branchIf(guard().notted(), join);
  return join;
}

void FunctionLowering::endUnguarded(ori::Block* join) {
  if (join) enter(join);
}

/// trap and brkpt: to a debugger both are the same.
void lowerTrap(FunctionLowering& f, const Instruction&, const Form&) {
  f.emit(IsaOp::BPT, {f.imm(1)});
}

/// exit, and ret: of a kernel the same, of an inlined function a jump behind the call.
void lowerExit(FunctionLowering& f, const Instruction&, const Form& form) {
  if (form.op == Op::Ret && f.returnTo())
    f.endBlock(f.b().emit(IsaOp::BRA, {IsaOperand::pt(), IsaOperand::label(f.returnTo()->id)}));
  else
    f.endBlock(f.b().emit(IsaOp::EXIT, {}));
}

} // namespace orias::ptx

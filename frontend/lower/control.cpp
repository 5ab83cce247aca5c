// Branches and exits.

#include "frontend/lower/families.h"
#include "ori/jump_table.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

void lowerBra(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  const ori::Block* target = f.blockOf(ops[0].labelId());
  f.endBlock(f.b().emit(IsaOp::BRA, {IsaOperand::pt(), IsaOperand::label(target->id)}));
}

void lowerBrxIdx(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  const std::span<const std::uint32_t> targets = f.module().targetLists[index(ops[1].targetListId())].targets;
  ori::Block* join = f.beginUnguarded();
  const IsaOperand which = f.sourceReg(ops[0], Type::U32);
  std::vector<ori::BlockId> blocks;
  for (const std::uint32_t target : targets)
    blocks.push_back(f.blockOf(LabelId(target))->id);
  f.endBlock(ori::emitJmx(f.b(), which, blocks));
  f.endUnguarded(join);
}

/// Registers are released immediately; a request waits until they are available. Whether a kernel has to ignore
/// setmaxnreg is decided later, when its launch bounds are final. Functions other than kernels ignore it, because they
/// do not know their callers' register counts.
void lowerSetmaxnreg(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (!f.out().isKernel()) return;
  const auto count = static_cast<std::int32_t>(f.operands(i)[0].intValue());
  ori::Block* join = f.beginUnguarded();
  if (form.has(Mod::Inc)) {
    ori::Block* loop = f.newBlock();
    f.enter(loop);
    f.emit(IsaOp::WARPSYNC_ALL, {});
    const IsaOperand answer = f.out().use(f.out().newVReg(isa::File::UP)), isThere = f.b().newP();
    f.emit(IsaOp::USETMAXREG_ALLOC, {answer, f.imm(count)});
    f.emit(IsaOp::COPY, {isThere, answer});
    f.branchIf(isThere.notted(), loop);
  } else {
    f.emit(IsaOp::WARPSYNC_ALL, {});
    f.emit(IsaOp::USETMAXREG_DEALLOC, {f.imm(count)});
  }
  f.endUnguarded(join);
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
  if (body_.current->guard == RegisterId::None) return nullptr;
  ori::Block* join = newBlock();
  branchIf(guard().notted(), join);
  return join;
}

void FunctionLowering::endUnguarded(ori::Block* join) {
  if (join) enter(join);
}

void FunctionLowering::markCold() {
  ori::Block* block = builder_.block();
  if (block != out_.entry()) block->isCold = true;
}

/// trap and brkpt, which are the same to a debugger. Nothing executes after a trap, as in ptxas' code. Compilers emit a
/// trap at unreachable code, and unrelated code may follow it.
void lowerTrap(FunctionLowering& f, const Instruction& instruction, const Form& form) {
  const bool isEnd = form.op == Op::Trap && instruction.guard == RegisterId::None;
  if (isEnd) f.markCold();
  f.emit(IsaOp::BPT, {f.imm(1)});
  if (isEnd) f.endBlock(f.b().emit(IsaOp::EXIT, {}));
}

/// exit and ret. A ret of a kernel is an exit, that of an inlined function a jump to the code after the call.
void lowerExit(FunctionLowering& f, const Instruction&, const Form& form) {
  if (form.op == Op::Ret && f.returnTo())
    f.endBlock(f.b().emit(IsaOp::BRA, {IsaOperand::pt(), IsaOperand::label(f.returnTo()->id)}));
  else
    f.endBlock(f.b().emit(IsaOp::EXIT, {}));
}

} // namespace orias::ptx

// Memory that a function takes from its stack as it runs. It lies below the frame, in which the stack pointer R1 stays
// where it is: how far down things reach is in a register of its own, the one that recursive functions use, too.

#include "frontend/lower/families.h"

#include <algorithm>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

constexpr std::int64_t kStackAlign = 16; ///< what stackPointer() is a multiple of

/// A 32-bit address of local memory, in a register of PTX.
void giveAddress(FunctionLowering& f, const Operand& to, IsaOperand address) {
  const IsaOperand d = f.dest(to);
  if (d.isZeroReg()) return;
  f.copy(ori::component(d, 0), Value::of(address));
  if (d.width > 1) f.copy(ori::component(d, 1), Value::constant(0, 1));
}

bool refusesInRecursion(FunctionLowering& f) {
  if (!f.isInRecursion()) return false;
  f.unsupported("memory from the stack in a recursive function");
  return true;
}

} // namespace

void lowerAlloca(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (refusesInRecursion(f)) return;
  auto ops = f.operands(i);
  const std::int64_t align = std::max(kStackAlign, ops.size() > 2 ? ops[2].intValue() : 0);
  ori::Block* join = f.beginUnguarded();
  const IsaOperand stack = f.stackPointer(), below = f.newR(), aligned = f.newR();
  const Value size = f.source(ops[1], form.type());
  f.emit(IsaOp::IADD3,
         {below, IsaOperand::pt(), IsaOperand::pt(), stack, f.inReg(size.word(0)).negated(), IsaOperand::rz()});
  f.emit(IsaOp::LOP3,
         {IsaOperand::pt(), aligned, below, f.imm(-align), IsaOperand::rz(), f.imm(0xc0), IsaOperand::pt().notted()});
  f.copy(stack, Value::of(aligned));
  giveAddress(f, ops[0], aligned);
  f.endUnguarded(join);
}

void lowerStacksave(FunctionLowering& f, const Instruction& i, const Form&) {
  if (refusesInRecursion(f)) return;
  ori::Block* join = f.beginUnguarded();
  giveAddress(f, f.operands(i)[0], f.stackPointer());
  f.endUnguarded(join);
}

void lowerStackrestore(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (refusesInRecursion(f)) return;
  ori::Block* join = f.beginUnguarded();
  const Value saved = f.source(f.operands(i)[0], form.type());
  f.copy(f.stackPointer(), Value::of(f.inReg(saved.word(0))));
  f.endUnguarded(join);
}

bool FunctionLowering::takesStack(const Function& function) const {
  return std::any_of(function.instructions.begin(), function.instructions.end(),
                     [&](const Instruction& i) { return layout_.forms->form(i).op == Op::Alloca; });
}

bool FunctionLowering::refusesCallBelowStack(const std::string& what) {
  if (!stackIsTaken_) {
    const std::vector<const Function*> all = bodies();
    stackIsTaken_ = std::any_of(all.begin(), all.end(), [&](const Function* body) { return takesStack(*body); });
  }
  if (*stackIsTaken_) unsupported("a call of " + what + " in code that uses alloca");
  return *stackIsTaken_;
}

} // namespace orias::ptx

// alloca: stack memory that a function allocates dynamically. It lies below the frame. A register of its own holds the
// lowest address in use; inlined recursion uses the same register. In a function with calls, that address is also where
// the callee's stack begins, and stack arguments lie there, below the memory (Function::hasFramePointer).

#include "frontend/lower/families.h"

#include "support/check.h"

#include <algorithm>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

constexpr std::int64_t kStackAlign = 16; ///< alignment of stackPointer()

/// Writes a 32-bit address of local memory to a PTX register.
void giveAddress(FunctionLowering& f, const Operand& to, IsaOperand address) {
  const IsaOperand d = f.dest(to);
  if (d.isZeroReg()) return;
  f.copy(ori::component(d, 0), Value::of(address));
  if (d.width > 1) f.copy(ori::component(d, 1), Value::constant(0, 1));
}

} // namespace

void lowerAlloca(FunctionLowering& f, const Instruction& i, const Form& form) {
  ORIAS_CHECK(!f.isInRecursion()); // such functions have code and frames of their own
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
  giveAddress(f, ops[0], f.aboveArguments(aligned, static_cast<std::uint32_t>(align)));
  f.endUnguarded(join);
}

void lowerStacksave(FunctionLowering& f, const Instruction& i, const Form&) {
  ori::Block* join = f.beginUnguarded();
  giveAddress(f, f.operands(i)[0], f.stackPointer());
  f.endUnguarded(join);
}

void lowerStackrestore(FunctionLowering& f, const Instruction& i, const Form& form) {
  ori::Block* join = f.beginUnguarded();
  const Value saved = f.source(f.operands(i)[0], form.type());
  f.copy(f.stackPointer(), Value::of(f.inReg(saved.word(0))));
  f.endUnguarded(join);
}

bool FunctionLowering::takesStack(const Function& function) const {
  return std::any_of(function.instructions.begin(), function.instructions.end(),
                     [&](const Instruction& i) { return layout_.forms->form(i).op == Op::Alloca; });
}

bool FunctionLowering::callsBelowStack() {
  if (!stackIsTaken_) {
    const std::vector<const Function*> all = bodies();
    stackIsTaken_ = std::any_of(all.begin(), all.end(), [&](const Function* body) { return takesStack(*body); });
  }
  out_.hasFramePointer |= *stackIsTaken_;
  return *stackIsTaken_;
}

bool FunctionLowering::passesToDriver() {
  if (target().has(isa::Capability::QuadTextures)) return false;
  const std::vector<const Function*> all = bodies();
  return std::any_of(all.begin(), all.end(), [&](const Function* body) {
    return std::any_of(body->instructions.begin(), body->instructions.end(), [&](const Instruction& i) {
      const Form& form = layout_.forms->form(i);
      return form.op == Op::Tex && form.get(Slot::Mipmap) == Mod::Grad;
    });
  });
}

isa::Operand FunctionLowering::aboveArguments(IsaOperand stack, std::uint32_t alignment) {
  // Functions of the driver have all arguments in registers, except those that read textures.
  if (!(callsByAbi_ && passesOnStack()) && !passesToDriver()) return stack;
  if (outgoing_ == kNoId) {
    outgoing_ = static_cast<std::uint32_t>(out_.frame.size());
    ori::FrameObject object;
    object.name = "arguments";
    object.isOutgoing = true;
    out_.frame.push_back(object);
  }
  ori::FrameObject& object = out_.frame[outgoing_];
  object.align = std::max(object.align, alignment);
  IsaOperand end;
  end.kind = IsaOperand::Kind::Frame;
  end.reg = outgoing_;
  const IsaOperand above = newR();
  emit(IsaOp::IADD3, {above, IsaOperand::pt(), IsaOperand::pt(), stack, end, IsaOperand::rz()});
  return above;
}

} // namespace orias::ptx

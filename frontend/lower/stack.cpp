// alloca: stack memory that a function allocates dynamically. It lies below the frame. A register of its own holds the
// lowest address in use; inlined recursion uses the same register. In a function with calls, that address is also where
// the callee's stack begins, and stack arguments lie there, below the memory (Function::hasFramePointer).

#include "frontend/lower/stack.h"

#include "frontend/lower/abi_call.h"
#include "frontend/lower/families.h"
#include "ori/call_abi.h"
#include "support/check.h"

#include <algorithm>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

constexpr std::uint32_t kStackAlignment = 8; ///< of the stack at a call, unless parameters on the stack require more

/// Writes a 32-bit address of local memory to a PTX register.
void giveAddress(FunctionLowering& f, const Operand& to, IsaOperand address) {
  const IsaOperand d = f.dest(to);
  if (d.isZeroReg()) return;
  f.copy(ori::component(d, 0), Value::of(address));
  if (d.width > 1) f.copy(ori::component(d, 1), Value::constant(0, 1));
}

bool isAlloca(const Instruction& i, const FormTable& forms) {
  return forms.form(i).op == Op::Alloca;
}

} // namespace

void lowerAlloca(FunctionLowering& f, const Instruction& i, const Form& form) {
  ORIAS_CHECK(!f.calls().recursive().isInside()); // such functions have code and frames of their own
  auto ops = f.operands(i);
  const std::int64_t align = std::max(DynamicStack::kAlign, ops.size() > 2 ? ops[2].intValue() : 0);
  ori::Block* join = f.beginUnguarded();
  const IsaOperand stack = f.stack().pointer(), below = f.newR(), aligned = f.newR();
  const Value size = f.source(ops[1], form.type());
  f.emit(IsaOp::IADD3,
         {below, IsaOperand::pt(), IsaOperand::pt(), stack, f.inReg(size.word(0)).negated(), IsaOperand::rz()});
  f.emit(IsaOp::LOP3,
         {IsaOperand::pt(), aligned, below, f.imm(-align), IsaOperand::rz(), f.imm(0xc0), IsaOperand::pt().notted()});
  f.copy(stack, Value::of(aligned));
  giveAddress(f, ops[0], f.stack().aboveArguments(aligned, static_cast<std::uint32_t>(align)));
  f.endUnguarded(join);
}

void lowerStacksave(FunctionLowering& f, const Instruction& i, const Form&) {
  ori::Block* join = f.beginUnguarded();
  giveAddress(f, f.operands(i)[0], f.stack().pointer());
  f.endUnguarded(join);
}

void lowerStackrestore(FunctionLowering& f, const Instruction& i, const Form& form) {
  ori::Block* join = f.beginUnguarded();
  const Value saved = f.source(f.operands(i)[0], form.type());
  f.copy(f.stack().pointer(), Value::of(f.inReg(saved.word(0))));
  f.endUnguarded(join);
}

bool takesStack(const Function& function, const FormTable& forms) {
  return std::ranges::any_of(function.instructions, [&](const Instruction& i) { return isAlloca(i, forms); });
}

isa::Operand DynamicStack::pointer() {
  if (pointer_.isNone()) {
    f_.out().growsStack = true;
    ori::Builder b = f_.entryBuilder();
    pointer_ = b.newR();
    b.emit(IsaOp::LOP3, {IsaOperand::pt(), pointer_, IsaOperand::physical(isa::File::R, ori::kStackPointer),
                         f_.imm(-kAlign), IsaOperand::rz(), f_.imm(0xc0), IsaOperand::pt().notted()});
  }
  return pointer_;
}

bool DynamicStack::anyInstruction(
    const std::function<bool(const Function& body, const Instruction&)>& condition) const {
  return std::ranges::any_of(bodiesOf(f_.layout(), f_.function()), [&](const Function* body) {
    return std::ranges::any_of(body->instructions, [&](const Instruction& i) { return condition(*body, i); });
  });
}

bool DynamicStack::isBelowCalls() {
  if (!isTaken_)
    isTaken_ = anyInstruction([&](const Function&, const Instruction& i) { return isAlloca(i, *f_.layout().forms); });
  f_.out().hasFramePointer |= *isTaken_;
  return *isTaken_;
}

bool DynamicStack::passesToDriver() const {
  if (f_.target().has(isa::Capability::QuadTextures)) return false;
  return anyInstruction([&](const Function&, const Instruction& i) {
    const Form& form = f_.layout().forms->form(i);
    return form.op == Op::Tex && form.get(Slot::Mipmap) == Mod::Grad;
  });
}

isa::Operand DynamicStack::aboveArguments(IsaOperand stack, std::uint32_t alignment) {
  // Functions of the driver have all arguments in registers, except those that read textures.
  if (!(f_.isLinked() && passesOnStack()) && !passesToDriver()) return stack;
  if (outgoing_ == kNoId) {
    outgoing_ = static_cast<std::uint32_t>(f_.out().frame.size());
    ori::FrameObject object;
    object.name = "arguments";
    object.isOutgoing = true;
    f_.out().frame.push_back(object);
  }
  ori::FrameObject& object = f_.out().frame[outgoing_];
  object.align = std::max(object.align, alignment);
  IsaOperand end;
  end.kind = IsaOperand::Kind::Frame;
  end.reg = outgoing_;
  const IsaOperand above = f_.newR();
  f_.emit(IsaOp::IADD3, {above, IsaOperand::pt(), IsaOperand::pt(), stack, end, IsaOperand::rz()});
  return above;
}

bool DynamicStack::passesOnStack() const {
  return anyInstruction([&](const Function& body, const Instruction& i) {
    return f_.layout().forms->form(i).op == Op::Call && passesArgumentsOnStack(f_.module(), body, i);
  });
}

/// Stack arguments begin at the stack pointer. An object without bytes aligns the frame. An alignment of at most
/// kStackAlignment needs nothing.
void DynamicStack::alignArguments(std::uint32_t alignment) {
  if (alignment <= kStackAlignment) return;
  ori::FrameObject object;
  object.name = "arguments";
  object.align = alignment;
  f_.out().frame.push_back(object);
}

} // namespace orias::ptx

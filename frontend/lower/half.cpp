// Arithmetic of f16 and bf16, single or in pairs. The unit computes two lanes. For a single number both lanes read the
// low half, and the upper half of the result is unused.

#include "frontend/lower/families.h"
#include "frontend/lower/float_helpers.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

void lowerHalfArith(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const bool brain = type == Type::BF16 || type == Type::BF16x2, pair = type == Type::F16x2 || type == Type::BF16x2;
  auto unsupported = [&] { f.unsupported(std::string(f.opcodeText())); };
  if ((!brain && type != Type::F16 && type != Type::F16x2) || form.typeCount() > 1) return unsupported();
  auto lanes = [&](IsaOperand o) {
    if (!pair) o.half = IsaOperand::Half::H0H0;
    return o;
  };
  auto operand = [&](unsigned k) {
    return lanes(f.inReg(Value::of(f.sourceReg(ops[k], pair ? Type::B32 : Type::B16))));
  };
  enum { kOutOfBounds = 3 };
  const ModValue format{IsaMod::Bf16, brain ? 1 : 0},
      ftz{IsaMod::Ftz, form.has(Mod::Oob) ? kOutOfBounds
                       : form.ftz()       ? 1
                                          : 0},
      sat{IsaMod::Sat, form.sat() ? 1 : 0};
  IsaOperand a = operand(1), d = f.dest(ops[0]);
  switch (form.op) {
  case Op::Add:
  case Op::Sub: {
    IsaOperand b = operand(2);
    f.emit(IsaOp::HADD2, {d, a, form.op == Op::Sub ? b.negated() : b}, {format, ftz, sat});
    return;
  }
  case Op::Mul: f.emit(IsaOp::HMUL2, {d, a, operand(2)}, {format, ftz, sat}); return;
  case Op::Fma: {
    IsaOperand b = operand(2), c = operand(3);
    if (form.has(Mod::Relu))
      f.emit(IsaOp::HFMA2_RELU, {d, a, b, c}, {format, ftz, sat, {IsaMod::Relu, 1}});
    else
      f.emit(IsaOp::HFMA2, {d, a, b, c}, {format, ftz, sat});
    return;
  }
  case Op::Min:
  case Op::Max: {
    IsaOperand b = operand(2);
    const bool xorsign = form.has(Mod::Xorsign);
    if (xorsign) {
      a = a.absolute();
      b = b.absolute();
    }
    f.emit(IsaOp::HMNMX2, {d, a, b, form.op == Op::Min ? IsaOperand::pt() : IsaOperand::pt().notted()},
           {format, ftz, {IsaMod::Nan, form.has(Mod::NaN) ? 1 : 0}, {IsaMod::XorSign, xorsign ? 1 : 0}});
    return;
  }
  case Op::Abs:
  case Op::Neg: {
    const bool absolute = form.op == Op::Abs;
    if (form.ftz()) {
      f.emit(IsaOp::HADD2, {d, absolute ? a.absolute() : a.negated(), lanes(IsaOperand::rz()).negated()},
             {format, ftz});
      return;
    }
    // Only the sign bits change.
    IsaOperand bits = a;
    bits.half = IsaOperand::Half::None;
    f.emit(IsaOp::LOP3,
           {IsaOperand::pt(), d, bits, f.imm(absolute ? 0x7fff7fff : static_cast<std::int32_t>(0x80008000)),
            IsaOperand::rz(), f.imm(absolute ? 0xc0 : 0x3c), IsaOperand::pt().notted()});
    return;
  }
  default: unsupported(); return;
  }
}

} // namespace orias::ptx

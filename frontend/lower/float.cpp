// Floating-point arithmetic.

#include "frontend/lower/families.h"

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

isa::Rnd rounding(const Form& form) {
  switch (form.rounding()) {
  case Mod::Rz: return isa::Rnd::RZ;
  case Mod::Rm: return isa::Rnd::RM;
  case Mod::Rp: return isa::Rnd::RP;
  default: return isa::Rnd::RN;
  }
}

} // namespace

/// add sub mul fma mad abs neg min max of f32 and f64.
void lowerFloatArith(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  if (type != Type::F32 && type != Type::F64) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const bool wide = type == Type::F64;
  auto operand = [&](unsigned k) {
    Value v = f.source(ops[k], type);
    return wide || k == 1 ? f.inReg(v) : v.word(0);
  };
  const ModValue rnd{IsaMod::Rnd, rounding(form)};
  std::vector<ModValue> mods{rnd};
  if (!wide) {
    mods.push_back({IsaMod::Ftz, form.ftz() ? 1 : 0});
    mods.push_back({IsaMod::Sat, form.sat() ? 1 : 0});
  }
  IsaOperand a = operand(1);
  switch (form.op) {
  case Op::Add:
  case Op::Sub: {
    IsaOperand b = f.inReg(operand(2));
    if (form.op == Op::Sub) b = b.negated();
    f.emit(wide ? IsaOp::DADD : IsaOp::FADD, {f.dest(ops[0]), a, b}, mods);
    return;
  }
  case Op::Mul: f.emit(wide ? IsaOp::DMUL : IsaOp::FMUL, {f.dest(ops[0]), a, operand(2)}, mods); return;
  case Op::Fma:
  case Op::Mad: {
    IsaOperand b = operand(2), c = operand(3);
    f.emit(wide ? IsaOp::DFMA : IsaOp::FFMA, {f.dest(ops[0]), a, b, c}, mods);
    return;
  }
  default: f.unsupported(std::string(f.opcodeText())); return;
  }
}

void lowerFloatDivision(FunctionLowering& f, const Instruction&, const Form&) { f.unsupported(std::string(f.opcodeText())); }

} // namespace orias::ptx

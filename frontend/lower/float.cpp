// Floating-point arithmetic of f32 and f64, and the approximate functions. The sequences are those that ptxas emits for
// sm_90.

#include "frontend/lower/families.h"
#include "frontend/lower/float_parts.h"

#include <bit>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

constexpr float kSmallestNormal = 0x1p-126f;
const IsaOperand kTrue = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

IsaOperand real(float value) {
  return FunctionLowering::imm(std::bit_cast<std::int32_t>(value));
}

isa::Rnd rounding(const Form& form) {
  switch (form.rounding()) {
  case Mod::Rz: return isa::Rnd::RZ;
  case Mod::Rm: return isa::Rnd::RM;
  case Mod::Rp: return isa::Rnd::RP;
  default: return isa::Rnd::RN;
  }
}

isa::MacroKind macroKind(const Form& form) {
  switch (form.rounding()) {
  case Mod::Rz: return isa::MacroKind::RZ;
  case Mod::Rm: return isa::MacroKind::RM;
  case Mod::Rp: return isa::MacroKind::RP;
  default: return isa::MacroKind::RN;
  }
}

/// p := |a| cmp limit.
IsaOperand compareMagnitude(FunctionLowering& f, IsaOperand a, isa::FCmp cmp, float limit, bool ftz = false) {
  IsaOperand p = f.newP();
  f.emit(IsaOp::FSETP, {p, kTrue, a.absolute(), real(limit), kTrue},
         {{IsaMod::Cmp, cmp}, {IsaMod::Bool, isa::BoolOp::AND}, {IsaMod::Ftz, ftz ? 1 : 0}});
  return p;
}

void multiply(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, bool ftz = false) {
  f.emit(IsaOp::FMUL, {d, a, b}, {{IsaMod::Ftz, ftz ? 1 : 0}});
}

/// r *= factor where p holds.
void scaleWhere(FunctionLowering& f, IsaOperand p, IsaOperand r, float factor, bool ftz = false) {
  f.b().setGuard(p);
  multiply(f, r, r, real(factor), ftz);
  f.b().setGuard(kTrue);
}

IsaOperand copyOf(FunctionLowering& f, IsaOperand a) {
  IsaOperand r = f.newR();
  f.copy(r, Value::of(a));
  return r;
}

void mufu(FunctionLowering& f, IsaOperand d, IsaOperand a, isa::Mufu function) {
  f.emit(IsaOp::MUFU, {d, a}, {{IsaMod::Func, function}});
}

} // namespace

void minMaxF64(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, bool minimum) {
  // The comparison tells which operand to take, and whether that is b as a NaN: then its payload is made quiet.
  IsaOperand first = f.newP(), quieten = f.newP(), result = f.newR(2), high = f.newR(), quiet = f.newR();
  constexpr std::uint8_t kMin = 0, kMax = 15;
  f.emit(IsaOp::DSETP, {first, quieten, a, b, kTrue},
         {{IsaMod::Cmp, minimum ? kMin : kMax}, {IsaMod::Bool, isa::BoolOp::AND}});
  f.emit(IsaOp::SEL, {ori::component(result, 0), ori::component(a, 0), ori::component(b, 0), first});
  f.emit(IsaOp::FSEL, {high, ori::component(a, 1), ori::component(b, 1), first});
  f.emit(IsaOp::LOP3, {kTrue, quiet, ori::component(b, 1), f.imm(0x80000), IsaOperand::rz(), f.imm(0xfc), kFalse});
  f.emit(IsaOp::SEL, {ori::component(result, 1), quiet, high, quieten});
  f.copy(d, Value::of(result));
}

bool supportsMacro(IsaOp macro, Type type, isa::MacroKind kind, bool ftz) {
  if (type != Type::F32 || kind == isa::MacroKind::Approx || kind == isa::MacroKind::Full) return false;
  // Flushing after a directed rounding is not the same as flushing before it, and the manual does not say which; only a
  // square root is never subnormal.
  if (macro == IsaOp::FDIV || macro == IsaOp::FRCP) return !ftz || kind == isa::MacroKind::RN;
  return macro == IsaOp::FSQRT;
}

/// add sub mul fma mad abs neg min max.
void lowerFloatArith(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  if ((type != Type::F32 && type != Type::F64) || form.typeCount() > 1) {
    lowerHalfArith(f, i, form);
    return;
  }
  const bool wide = type == Type::F64;
  auto operand = [&](unsigned k) {
    Value v = f.source(ops[k], type);
    return wide || k == 1 ? f.inReg(v) : v.word(0);
  };
  const ModValue ftz{IsaMod::Ftz, form.ftz() ? 1 : 0};
  std::vector<ModValue> mods{{IsaMod::Rnd, rounding(form)}};
  if (!wide) {
    mods.push_back(ftz);
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
  case Op::Abs:
  case Op::Neg: {
    // Adding -0 changes no number.
    IsaOperand changed = form.op == Op::Abs ? a.absolute() : a.negated();
    if (wide)
      f.emit(IsaOp::DADD, {f.dest(ops[0]), IsaOperand::rz(2).negated(), changed});
    else
      f.emit(IsaOp::FADD, {f.dest(ops[0]), changed, IsaOperand::rz().negated()}, {ftz});
    return;
  }
  case Op::Min:
  case Op::Max: {
    const bool minimum = form.op == Op::Min, xorsign = form.has(Mod::Xorsign);
    if (ops.size() > 3 || (form.has(Mod::Abs) && !xorsign)) break;
    IsaOperand b = operand(2);
    if (wide) {
      minMaxF64(f, f.dest(ops[0]), a, b, minimum);
      return;
    }
    if (xorsign) {
      a = a.absolute();
      b = f.inReg(b).absolute();
    }
    f.emit(IsaOp::FMNMX, {f.dest(ops[0]), a, b, minimum ? kTrue : kFalse},
           {ftz, {IsaMod::Nan, form.has(Mod::NaN) ? 1 : 0}, {IsaMod::XorSign, xorsign ? 1 : 0}});
    return;
  }
  default: break;
  }
  f.unsupported(std::string(f.opcodeText()));
}

/// div. The correctly rounded ones become macros.
void lowerFloatDivision(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  IsaOperand a = f.sourceReg(ops[1], type), b = f.sourceReg(ops[2], type);
  const bool ftz = form.ftz();
  if (form.rounding() != Mod::Approx && form.rounding() != Mod::Full) {
    if (!supportsMacro(IsaOp::FDIV, type, macroKind(form), ftz)) {
      f.unsupported(std::string(f.opcodeText()));
      return;
    }
    f.emit(IsaOp::FDIV, {f.dest(ops[0]), a, b},
           {{IsaMod::MacroType, type == Type::F64 ? isa::MacroType::F64 : isa::MacroType::F32},
            {IsaMod::MacroKind, macroKind(form)},
            {IsaMod::Ftz, ftz ? 1 : 0}});
    return;
  }
  // a * (1/b), both scaled alike where the reciprocal would be flushed to zero or overflow.
  IsaOperand dividend = a, divisor = b;
  if (!ftz || form.rounding() == Mod::Full) {
    dividend = copyOf(f, a);
    divisor = copyOf(f, b);
    auto scaleBoth = [&](IsaOperand p, float factor) {
      scaleWhere(f, p, divisor, factor, ftz);
      scaleWhere(f, p, dividend, factor, ftz);
    };
    if (form.rounding() == Mod::Full) scaleBoth(compareMagnitude(f, b, isa::FCmp::GT, 0x1p126f, ftz), 0.25f);
    if (!ftz) scaleBoth(compareMagnitude(f, b, isa::FCmp::GEU, kSmallestNormal).notted(), 0x1p24f);
  }
  IsaOperand reciprocal = f.newR();
  mufu(f, reciprocal, divisor, isa::Mufu::RCP);
  multiply(f, f.dest(ops[0]), reciprocal, dividend, ftz);
}

/// rcp sqrt rsqrt sin cos lg2 ex2 tanh.
void lowerFloatFunction(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  if (type != Type::F32 && type != Type::F64) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const bool wide = type == Type::F64, ftz = form.ftz();
  if (form.rounding() != Mod::Approx || (wide && !ftz)) {
    const IsaOp macro = form.op == Op::Rcp ? IsaOp::FRCP : form.op == Op::Sqrt ? IsaOp::FSQRT : IsaOp::FRSQRT;
    const isa::MacroKind kind = form.rounding() == Mod::Approx ? isa::MacroKind::Approx : macroKind(form);
    if (!supportsMacro(macro, type, kind, ftz)) {
      f.unsupported(std::string(f.opcodeText()));
      return;
    }
    IsaOperand a = f.sourceReg(ops[1], type);
    f.emit(macro, {f.dest(ops[0]), a},
           {{IsaMod::MacroType, wide ? isa::MacroType::F64 : isa::MacroType::F32},
            {IsaMod::MacroKind, kind},
            {IsaMod::Ftz, ftz ? 1 : 0}});
    return;
  }
  IsaOperand a = f.sourceReg(ops[1], type), d = f.dest(ops[0]);
  if (wide) {
    // Of the high word, as defined; the low word of the result is 0.
    IsaOperand result = f.newR(2);
    mufu(f, ori::component(result, 1), ori::component(a, 1),
         form.op == Op::Rcp ? isa::Mufu::RCP64H : isa::Mufu::RSQ64H);
    f.copy(ori::component(result, 0), Value::constant(0, 1));
    f.copy(d, Value::of(result));
    return;
  }
  // The unit takes subnormal inputs for zero and flushes subnormal results: scale them away from there and back.
  auto scaled = [&](isa::Mufu function, float down) {
    if (ftz) {
      mufu(f, d, a, function);
      return;
    }
    IsaOperand x = copyOf(f, a), y = f.newR();
    IsaOperand small = compareMagnitude(f, a, isa::FCmp::GEU, kSmallestNormal).notted();
    scaleWhere(f, small, x, 0x1p24f);
    mufu(f, y, x, function);
    if (function == isa::Mufu::LG2) {
      f.b().setGuard(small);
      f.emit(IsaOp::FADD, {y, y, real(down)});
      f.b().setGuard(kTrue);
    } else {
      scaleWhere(f, small, y, down);
    }
    f.copy(d, Value::of(y));
  };
  switch (form.op) {
  case Op::Tanh: mufu(f, d, a, isa::Mufu::TANH); return;
  case Op::Sin:
  case Op::Cos: {
    // The unit wants turns.
    IsaOperand turns = f.newR();
    f.emit(IsaOp::FMUL, {turns, a, real(0.15915493667125701904f)}, {{IsaMod::Rnd, isa::Rnd::RZ}});
    mufu(f, d, turns, form.op == Op::Sin ? isa::Mufu::SIN : isa::Mufu::COS);
    return;
  }
  case Op::Rsqrt: scaled(isa::Mufu::RSQ, 0x1p12f); return;
  case Op::Sqrt: scaled(isa::Mufu::SQRT, 0x1p-12f); return;
  case Op::Lg2: scaled(isa::Mufu::LG2, -24.0f); return;
  case Op::Ex2: {
    if (ftz) {
      mufu(f, d, a, isa::Mufu::EX2);
      return;
    }
    // 2^x = (2^(x/2))^2
    IsaOperand x = copyOf(f, a), y = f.newR(), low = f.newP();
    f.emit(IsaOp::FSETP, {low, kTrue, a, real(-126.0f), kTrue},
           {{IsaMod::Cmp, isa::FCmp::GEU}, {IsaMod::Bool, isa::BoolOp::AND}});
    scaleWhere(f, low.notted(), x, 0.5f);
    mufu(f, y, x, isa::Mufu::EX2);
    f.b().setGuard(low.notted());
    multiply(f, y, y, y);
    f.b().setGuard(kTrue);
    f.copy(d, Value::of(y));
    return;
  }
  case Op::Rcp: {
    if (ftz) {
      mufu(f, d, a, isa::Mufu::RCP);
      return;
    }
    IsaOperand up = f.newR(), scale = f.newR(), x = f.newR(), y = f.newR();
    IsaOperand normal = compareMagnitude(f, a, isa::FCmp::GEU, kSmallestNormal);
    IsaOperand large = compareMagnitude(f, a, isa::FCmp::GT, 0x1p126f);
    f.emit(IsaOp::FSEL, {up, f.inReg(real(0x1p24f)), real(1.0f), normal.notted()});
    f.emit(IsaOp::FSEL, {scale, up, real(0.25f), large.notted()});
    multiply(f, x, a, scale);
    mufu(f, y, x, isa::Mufu::RCP);
    multiply(f, d, scale, y);
    return;
  }
  default: f.unsupported(std::string(f.opcodeText())); return;
  }
}

/// testp: the class of a number, from the bits of its magnitude. As in ptxas, zero is normal.
void lowerTestp(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool wide = form.type() == Type::F64;
  IsaOperand a = f.sourceReg(ops[1], form.type()), p = f.destPredicate(ops[0]);
  IsaOperand top = f.newR();
  f.emit(IsaOp::LOP3,
         {kTrue, top, ori::component(a, wide ? 1 : 0), f.imm(0x7fffffff), IsaOperand::rz(), f.imm(0xc0), kFalse});
  const std::int32_t infinity = wide ? 0x7ff00000 : 0x7f800000, smallest = wide ? 0x00100000 : 0x00800000;
  auto compare = [&](IsaOperand to, IsaOperand x, isa::ICmp cmp, std::int32_t limit, isa::BoolOp op, IsaOperand with) {
    f.emit(IsaOp::ISETP, {to, kTrue, x, f.imm(limit), with},
           {{IsaMod::Cmp, cmp}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, op}});
  };
  IsaOperand low = ori::component(a, 0);
  auto againstInfinity = [&](isa::ICmp cmp) {
    IsaOperand q = f.newP();
    if (!wide) {
      compare(q, top, cmp, infinity, isa::BoolOp::AND, kTrue);
      return q;
    }
    // The low word unsigned first, then the high word with that result.
    IsaOperand lowResult = f.newP();
    compare(lowResult, low, cmp, 0, isa::BoolOp::AND, kTrue);
    f.emit(IsaOp::ISETP_EX, {q, kTrue, top, f.imm(infinity), kTrue, lowResult},
           {{IsaMod::Cmp, cmp}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
    return q;
  };
  auto anyBit = [&] {
    if (!wide) return top;
    IsaOperand r = f.newR();
    f.emit(IsaOp::LOP3, {kTrue, r, top, low, IsaOperand::rz(), f.imm(0xfc), kFalse});
    return r;
  };
  switch (form.get(Slot::Query)) {
  case Mod::Finite: compare(p, top, isa::ICmp::LT, infinity, isa::BoolOp::AND, kTrue); return;
  case Mod::Infinite: f.copy(p, Value::of(againstInfinity(isa::ICmp::EQ))); return;
  case Mod::Number: f.copy(p, Value::of(againstInfinity(isa::ICmp::LE))); return;
  case Mod::NotANumber: f.copy(p, Value::of(againstInfinity(isa::ICmp::GT))); return;
  case Mod::Normal: {
    IsaOperand finite = f.newP(), regular = f.newP();
    compare(finite, top, isa::ICmp::LT, infinity, isa::BoolOp::AND, kTrue);
    compare(regular, top, isa::ICmp::GE, smallest, isa::BoolOp::AND, finite);
    compare(p, anyBit(), isa::ICmp::EQ, 0, isa::BoolOp::OR, regular);
    return;
  }
  case Mod::Subnormal: {
    IsaOperand small = f.newP();
    compare(small, top, isa::ICmp::LT, smallest, isa::BoolOp::AND, kTrue);
    compare(p, anyBit(), isa::ICmp::NE, 0, isa::BoolOp::AND, small);
    return;
  }
  default: f.unsupported(std::string(f.opcodeText())); return;
  }
}

/// copysign: the sign of a, the rest of b.
void lowerCopysign(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const unsigned top = form.type() == Type::F64 ? 1 : 0;
  Value a = f.source(ops[1], form.type()), b = f.source(ops[2], form.type());
  IsaOperand d = f.dest(ops[0]), result = f.newR();
  f.emit(IsaOp::LOP3, {kTrue, result, f.inReg(a.word(top)), IsaOperand::immediate(INT32_MIN), f.inReg(b.word(top)),
                       f.imm(0xe2), kFalse});
  if (top) f.copy(ori::component(d, 0), Value::of(ori::component(f.inReg(b), 0)));
  f.copy(ori::component(d, top), Value::of(result));
}

} // namespace orias::ptx

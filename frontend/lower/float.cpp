// Floating-point arithmetic of f32 and f64. Divisions and functions become macros, which phases 5 and 8 expand.

#include "encoder/isa/codec.h"
#include "frontend/lower/families.h"
#include "frontend/lower/float_helpers.h"
#include "frontend/lower/modifiers.h"

#include <array>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

const IsaOperand kTrue = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

/// Whether phases 5 and 8 have a sequence for this macro.
bool supportsMacro(IsaOp macro, Type type, isa::MacroKind kind, bool ftz) {
  const bool isApproximate = kind == isa::MacroKind::Approx || kind == isa::MacroKind::Full;
  if (type == Type::F64) return !isApproximate || macro == IsaOp::FRSQRT || (ftz && macro == IsaOp::FRCP);
  if (type != Type::F32) return false;
  if (isApproximate) return true;
  return macro == IsaOp::FDIV || macro == IsaOp::FRCP || macro == IsaOp::FSQRT;
}

/// A floating-point operation that a later phase expands: its result, then one or two sources.
void emitMacro(FunctionLowering& f, const Instruction& i, const Form& form, IsaOp macro) {
  const Type type = form.type();
  if (!supportsMacro(macro, type, macroKind(form), form.ftz())) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  auto ops = f.operands(i);
  std::vector<IsaOperand> sources;
  for (std::size_t k = 1; k < ops.size(); ++k)
    sources.push_back(f.sourceReg(ops[k], type));
  std::vector<IsaOperand> operands{f.dest(ops[0])};
  operands.insert(operands.end(), sources.begin(), sources.end());
  const std::array<ModValue, 3> mods{
      {{IsaMod::MacroType, type == Type::F64 ? isa::MacroType::F64 : isa::MacroType::F32},
       {IsaMod::MacroKind, macroKind(form)},
       {IsaMod::Ftz, form.ftz() ? 1 : 0}}};
  // An approximate quotient is a product with a reciprocal. ptxas also contracts this product with an addition
  // (observed).
  const isa::MacroKind kind = macroKind(form);
  f.emit(macro, operands, mods)->mayContract =
      f.options().contractFma && (kind == isa::MacroKind::Approx || kind == isa::MacroKind::Full);
}

} // namespace

void minMaxF64(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, bool minimum) {
  // The comparison selects the operand, and reports whether it is b as a NaN. The NaN is then made quiet.
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

namespace {

/// add sub mul fma of pairs of f32: one instruction if the chip has it, else each word separately.
void pairArith(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  std::vector<IsaOperand> sources;
  for (std::size_t k = 1; k < ops.size(); ++k)
    sources.push_back(f.inReg(f.source(ops[k], Type::B64)));
  if (form.op == Op::Sub) sources[1] = sources[1].negated();
  const bool adds = form.op == Op::Add || form.op == Op::Sub;
  const IsaOp op = adds ? IsaOp::FADD : form.op == Op::Mul ? IsaOp::FMUL : IsaOp::FFMA;
  const std::array<ModValue, 2> mods{{{IsaMod::Rnd, rounding(form)}, {IsaMod::Ftz, form.ftz() ? 1 : 0}}};
  const bool mayContract = f.options().contractFma && form.rounding() == Mod::None;
  const IsaOperand d = f.dest(ops[0]);
  const IsaOp both = adds ? IsaOp::FADD2 : form.op == Op::Mul ? IsaOp::FMUL2 : IsaOp::FFMA2;
  if (isa::existsOn(f.target(), both, isa::makeInst(both).mods)) {
    std::vector<IsaOperand> operands{d};
    operands.insert(operands.end(), sources.begin(), sources.end());
    f.emit(both, operands, mods)->mayContract = mayContract;
    return;
  }
  for (unsigned word = 0; word < 2; ++word) {
    std::vector<IsaOperand> operands{ori::component(d, word)};
    for (const IsaOperand& source : sources)
      operands.push_back(ori::component(source, word));
    f.emit(op, operands, mods)->mayContract = mayContract;
  }
}

/// add sub fma of f16 or bf16 with an f32 addend and result.
void mixedArith(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type half = form.type(1);
  const std::array<ModValue, 3> mods{
      {{IsaMod::Rnd, rounding(form)}, {IsaMod::Sat, form.sat() ? 1 : 0}, {IsaMod::Bf16, half == Type::BF16 ? 1 : 0}}};
  const IsaOperand a = f.sourceReg(ops[1], half), d = f.dest(ops[0]);
  if (form.op == Op::Fma) {
    const IsaOperand b = f.sourceReg(ops[2], half), c = f.sourceReg(ops[3], Type::F32);
    f.emit(IsaOp::FHFMA, {d, a, b, c}, mods);
    return;
  }
  const IsaOperand c = f.sourceReg(ops[2], Type::F32);
  f.emit(IsaOp::FHADD, {d, a, form.op == Op::Sub ? c.negated() : c}, mods);
}

/// min and max of three f32; with .abs, of their magnitudes.
void extremumOfThree(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  std::array<IsaOperand, 3> sources;
  for (unsigned k = 0; k < sources.size(); ++k) {
    sources[k] = f.sourceReg(ops[k + 1], Type::F32);
    if (form.has(Mod::Abs)) sources[k] = sources[k].absolute();
  }
  const auto [a, b, c] = sources;
  const IsaOperand d = f.dest(ops[0]), isMinimum = form.op == Op::Min ? kTrue : kFalse;
  const std::array<ModValue, 2> mods{{{IsaMod::Ftz, form.ftz() ? 1 : 0}, {IsaMod::Nan, form.has(Mod::NaN) ? 1 : 0}}};
  if (isa::existsOn(f.target(), IsaOp::FMNMX3, isa::makeInst(IsaOp::FMNMX3).mods)) {
    f.emit(IsaOp::FMNMX3, {d, a, b, c, isMinimum}, mods);
    return;
  }
  const IsaOperand ofTwo = f.newR();
  f.emit(IsaOp::FMNMX, {ofTwo, a, b, isMinimum}, mods);
  f.emit(IsaOp::FMNMX, {d, ofTwo, c, isMinimum}, mods);
}

} // namespace

/// add sub mul fma mad abs neg min max.
void lowerFloatArith(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  if (type == Type::F32x2) {
    pairArith(f, i, form);
    return;
  }
  if (type == Type::F32 && form.typeCount() > 1) {
    mixedArith(f, i, form);
    return;
  }
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
  // The manual allows contraction of mul and add without a rounding modifier.
  const bool mayContract = f.options().contractFma && form.rounding() == Mod::None;
  IsaOperand a = operand(1);
  switch (form.op) {
  case Op::Add:
  case Op::Sub: {
    IsaOperand b = f.inReg(operand(2));
    if (form.op == Op::Sub) b = b.negated();
    f.emit(wide ? IsaOp::DADD : IsaOp::FADD, {f.dest(ops[0]), a, b}, mods)->mayContract = mayContract;
    return;
  }
  case Op::Mul:
    f.emit(wide ? IsaOp::DMUL : IsaOp::FMUL, {f.dest(ops[0]), a, operand(2)}, mods)->mayContract = mayContract;
    return;
  case Op::Fma:
  case Op::Mad: {
    IsaOperand b = operand(2), c = operand(3);
    f.emit(wide ? IsaOp::DFMA : IsaOp::FFMA, {f.dest(ops[0]), a, b, c}, mods);
    return;
  }
  case Op::Abs:
  case Op::Neg: {
    // Adding -0 changes no value.
    IsaOperand changed = form.op == Op::Abs ? a.absolute() : a.negated();
    if (wide)
      f.emit(IsaOp::DADD, {f.dest(ops[0]), IsaOperand::rz(2).negated(), changed});
    else
      f.emit(IsaOp::FADD, {f.dest(ops[0]), changed, IsaOperand::rz().negated()}, {ftz});
    return;
  }
  case Op::Min:
  case Op::Max: {
    if (ops.size() == 4) {
      extremumOfThree(f, i, form);
      return;
    }
    const bool minimum = form.op == Op::Min, xorsign = form.has(Mod::Xorsign);
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

/// div.
void lowerFloatDivision(FunctionLowering& f, const Instruction& i, const Form& form) {
  emitMacro(f, i, form, IsaOp::FDIV);
}

namespace {

/// ex2 and tanh of halves: one at a time, each from the low half of a register.
void halfFunction(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  enum { kF16 = 1, kBf16 = 2 };
  const bool isBrain = type == Type::BF16 || type == Type::BF16x2;
  const auto compute = [&](IsaOperand d, IsaOperand half) {
    f.emit(IsaOp::MUFU, {d, half},
           {{IsaMod::Func, form.op == Op::Ex2 ? isa::Mufu::EX2 : isa::Mufu::TANH},
            {IsaMod::FuncFmt, isBrain ? kBf16 : kF16}});
  };
  const IsaOperand a = f.sourceReg(ops[1], type);
  if (type == Type::F16 || type == Type::BF16) {
    compute(f.dest(ops[0]), a);
    return;
  }
  const IsaOperand upper = f.newR(), low = f.newR(), high = f.newR();
  f.emit(IsaOp::PRMT, {upper, a, f.imm(0x4432), IsaOperand::rz()});
  compute(low, a);
  compute(high, upper);
  f.emit(IsaOp::PRMT, {f.dest(ops[0]), low, f.imm(0x5410), high});
}

} // namespace

/// rcp sqrt rsqrt sin cos lg2 ex2 tanh.
void lowerFloatFunction(FunctionLowering& f, const Instruction& i, const Form& form) {
  if ((form.op == Op::Ex2 || form.op == Op::Tanh) && form.type() != Type::F32 && form.type() != Type::F64) {
    halfFunction(f, i, form);
    return;
  }
  switch (form.op) {
  case Op::Rcp: emitMacro(f, i, form, IsaOp::FRCP); return;
  case Op::Sqrt: emitMacro(f, i, form, IsaOp::FSQRT); return;
  case Op::Rsqrt: emitMacro(f, i, form, IsaOp::FRSQRT); return;
  case Op::Lg2: emitMacro(f, i, form, IsaOp::FLG2); return;
  case Op::Ex2: emitMacro(f, i, form, IsaOp::FEX2); return;
  case Op::Sin: emitMacro(f, i, form, IsaOp::FSIN); return;
  case Op::Cos: emitMacro(f, i, form, IsaOp::FCOS); return;
  case Op::Tanh:
    if (form.type() == Type::F32) {
      auto ops = f.operands(i);
      IsaOperand a = f.sourceReg(ops[1], Type::F32);
      f.emit(IsaOp::MUFU, {f.dest(ops[0]), a}, {{IsaMod::Func, isa::Mufu::TANH}});
      return;
    }
    break;
  default: break;
  }
  f.unsupported(std::string(f.opcodeText()));
}

/// testp: classifies a number by the bits of its magnitude. As in ptxas, zero is normal.
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
    // Compares the low words as unsigned, then the high words with that result.
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

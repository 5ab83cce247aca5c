// Integer arithmetic: add sub mul mad with all widths, carries, division, minimum and maximum.

#include "encoder/isa/codec.h"
#include "frontend/lower/families.h"
#include "frontend/lower/integer_helpers.h"

#include <array>
#include <functional>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

const IsaOperand kNoCarry = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

/// Where an instruction writes its carry.
IsaOperand carryOut(FunctionLowering& f, const Form& form) {
  return form.has(Mod::Cc) ? f.guardedResults().of(f.carry()) : kNoCarry;
}

bool isFloat(Type type) {
  return typeClass(type) == TypeClass::Float;
}
bool isSigned(Type type) {
  return typeClass(type) == TypeClass::Signed;
}

bool isPackedHalves(Type type) {
  return type == Type::U16x2 || type == Type::S16x2;
}

isa::IntType intType(Type type) {
  return isSigned(type) ? isa::IntType::S32 : isa::IntType::U32;
}

isa::MacroType macroType(Type type) {
  switch (type) {
  case Type::U16: return isa::MacroType::U16;
  case Type::S16: return isa::MacroType::S16;
  case Type::S32: return isa::MacroType::S32;
  case Type::U64: return isa::MacroType::U64;
  case Type::S64: return isa::MacroType::S64;
  default: return isa::MacroType::U32;
  }
}

/// d = a +- b on 32 bits, clamped to the signed range. A result whose sign differs from those of both addends has
/// overflowed.
void addSaturating(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, bool subtract) {
  a = f.inReg(a);
  b = f.inReg(b);
  IsaOperand sum = f.newR(), overflow = f.newR(), limit = f.newR(), p = f.newP();
  f.emit(IsaOp::IADD3, {sum, kNoCarry, kNoCarry, a, subtract ? b.negated() : b, IsaOperand::rz()});
  // (a ^ sum) & (b ^ sum) for addition, (a ^ sum) & (a ^ b) for subtraction; lut inputs a=0xf0 b=0xcc c=0xaa.
  f.emit(IsaOp::LOP3, {kNoCarry, overflow, a, b, sum, f.imm(subtract ? 0x18 : 0x42), kFalse});
  f.emit(IsaOp::ISETP, {p, kNoCarry, overflow, IsaOperand::rz(), IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::LT}, {IsaMod::Type, isa::IntType::S32}, {IsaMod::Bool, isa::BoolOp::AND}});
  // a < 0 ? 0x80000000 : 0x7fffffff
  IsaOperand sign = f.newR();
  f.emit(IsaOp::SHF, {sign, IsaOperand::rz(), f.imm(31), a},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::S32}, {IsaMod::Hi, 1}});
  f.emit(IsaOp::LOP3, {kNoCarry, limit, sign, f.imm(0x7fffffff), IsaOperand::rz(), f.imm(0x3c), kFalse});
  f.emit(IsaOp::SEL, {d, limit, sum, p});
}

/// For pairs of halves without an instruction: applies `compute` to each half, extended to 32 bits.
void byHalves(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, Type type,
              const std::function<void(IsaOperand, IsaOperand, IsaOperand)>& compute) {
  // PRMT: 0 to 3 select a byte of the first source, 4 a zero byte of the third; adding 8 repeats the sign of the byte.
  const auto half = [&](IsaOperand pair, bool upper) {
    IsaOperand r = f.newR();
    const std::int32_t selector = isSigned(type) ? (upper ? 0xbb32 : 0x9910) : (upper ? 0x4432 : 0x4410);
    f.emit(IsaOp::PRMT, {r, pair, f.imm(selector), IsaOperand::rz()});
    return r;
  };
  std::array<IsaOperand, 2> results = {f.newR(), f.newR()};
  for (const bool upper : {false, true})
    compute(results[upper ? 1 : 0], half(a, upper), half(b, upper));
  f.emit(IsaOp::PRMT, {d, results[0], f.imm(0x5410), results[1]});
}

/// The smaller or larger of two 32-bit numbers; with `relu` at least 0.
void minMax(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, bool minimum, bool relu, isa::IntType type) {
  IsaOperand first = relu ? f.newR() : d;
  f.emit(IsaOp::IMNMX, {first, a, b, minimum ? IsaOperand::pt() : kFalse}, {{IsaMod::Type, type}});
  if (relu) f.emit(IsaOp::IMNMX, {d, first, IsaOperand::rz(), kFalse}, {{IsaMod::Type, type}});
}

} // namespace

void lowerAddSub(FunctionLowering& f, const Instruction& i, const Form& form) {
  const Type type = form.type();
  if (isFloat(type)) {
    lowerFloatArith(f, i, form);
    return;
  }
  if (form.has(Mod::Cc)) {
    lowerCarry(f, i, form);
    return;
  }
  auto ops = f.operands(i);
  const bool subtract = form.op == Op::Sub;
  if (isPackedHalves(type)) {
    if (f.target().has(isa::Capability::VectorMinMax)) {
      f.emit(IsaOp::VIADD_16X2, {f.dest(ops[0]), f.sourceReg(ops[1], type), f.source(ops[2], type).word(0)});
      return;
    }
    byHalves(f, f.dest(ops[0]), f.sourceReg(ops[1], type), f.sourceReg(ops[2], type), type,
             [&](IsaOperand d, IsaOperand a, IsaOperand b) {
               f.emit(IsaOp::IADD3, {d, kNoCarry, kNoCarry, a, b, IsaOperand::rz()});
             });
    return;
  }
  if (bitWidth(type) == 64) {
    Value a = f.source(ops[1], type), b = f.source(ops[2], type);
    IsaOperand d = f.dest(ops[0]);
    if (subtract && b.isConstant()) b = Value::constant(0 - b.bits(), 2);
    IsaOperand right = f.inReg(b);
    f.emit(IsaOp::IADD64, {d, f.inReg(a), subtract && !b.isConstant() ? right.negated() : right});
    return;
  }
  Value a = f.source(ops[1], type), b = f.source(ops[2], type);
  IsaOperand d = f.dest(ops[0]);
  if (form.sat()) {
    addSaturating(f, d, a.word(0), b.word(0), subtract);
    return;
  }
  IsaOperand right = b.word(0);
  if (subtract) right = b.isConstant() ? f.imm(static_cast<std::int32_t>(0 - b.bits())) : right.negated();
  f.emit(IsaOp::IADD3, {d, kNoCarry, kNoCarry, f.inReg(a.word(0)), right, IsaOperand::rz()});
}

/// add.cc addc sub.cc subc.
void lowerCarry(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const bool subtract = form.op == Op::Sub || form.op == Op::Subc;
  const bool carryIn = form.op == Op::Addc || form.op == Op::Subc;
  Value a = f.source(ops[1], type), b = f.source(ops[2], type);
  IsaOperand d = f.dest(ops[0]);
  IsaOperand in = carryIn ? f.carry() : IsaOperand::pt();
  const unsigned words = FunctionLowering::wordsOf(type);
  IsaOperand out = carryOut(f, form);
  bool chained = carryIn;
  for (unsigned w = 0; w < words; ++w) {
    const bool last = w + 1 == words;
    IsaOperand link = last ? out : f.newP();
    IsaOperand left = f.inReg(a.word(w)), right = f.inReg(b.word(w));
    if (chained)
      f.emit(IsaOp::IADD3_X, {ori::component(d, w), link, kNoCarry, left, subtract ? right.notted() : right,
                              IsaOperand::rz(), in, kFalse});
    else
      f.emit(IsaOp::IADD3,
             {ori::component(d, w), link, kNoCarry, left, subtract ? right.negated() : right, IsaOperand::rz()});
    chained = true;
    in = link;
  }
}

void lowerMulMad(FunctionLowering& f, const Instruction& i, const Form& form) {
  const Type type = form.type();
  if (isFloat(type)) {
    lowerFloatArith(f, i, form);
    return;
  }
  if (form.has(Mod::Cc)) {
    lowerMadCarry(f, i, form);
    return;
  }
  auto ops = f.operands(i);
  const bool mad = form.op == Op::Mad;
  const unsigned bits = bitWidth(type);
  const Type wideType = !mad ? Type::None : form.mode() == Mod::Wide ? (bits == 32 ? Type::U64 : Type::U32) : type;
  Value a = f.source(ops[1], type), b = f.source(ops[2], type);
  Value c = mad ? f.source(ops[3], wideType)
                : Value::constant(0, bits == 64 || (form.mode() == Mod::Wide && bits == 32) ? 2 : 1);
  IsaOperand d = f.dest(ops[0]);
  const ModValue sign{IsaMod::Type, intType(type)};
  if (bits == 64) {
    if (form.mode() == Mod::Hi) {
      IsaOperand high = mad ? f.newR(2) : d;
      multiplyHigh64(f, high, f.inReg(a), f.inReg(b), isSigned(type));
      if (mad) f.emit(IsaOp::IADD64, {d, high, f.inReg(c)});
    } else if (mad) {
      f.emit(IsaOp::IMAD64, {d, f.inReg(a), f.inReg(b), f.inReg(c)});
    } else {
      f.emit(IsaOp::IMUL64, {d, f.inReg(a), f.inReg(b)});
    }
    return;
  }
  if (bits == 32) {
    IsaOperand left = f.inReg(a.word(0));
    switch (form.mode()) {
    case Mod::Wide: f.emit(IsaOp::IMAD_WIDE, {d, kNoCarry, left, b.word(0), f.inReg(c)}, {sign}); break;
    case Mod::Hi: {
      // The third source of IMAD.HI is added at bit 0 of the product; the addend of mad.hi is not.
      IsaOperand high = mad ? f.newR() : d;
      f.emit(IsaOp::IMAD_HI, {high, kNoCarry, left, b.word(0), IsaOperand::rz()}, {sign});
      if (form.sat())
        addSaturating(f, d, high, c.word(0), false);
      else if (mad)
        f.emit(IsaOp::IADD3, {d, kNoCarry, kNoCarry, high, f.inReg(c.word(0)), IsaOperand::rz()});
      break;
    }
    default: f.emit(IsaOp::IMAD, {d, left, b.word(0), c.word(0)}, {{IsaMod::Type, isa::IntType::U32}}); break;
    }
    return;
  }
  // 16 bits: the product fits in a 32-bit register.
  if (form.mode() == Mod::Lo) {
    f.emit(IsaOp::IMAD, {d, f.inReg(a.word(0)), b.word(0), c.word(0)}, {{IsaMod::Type, isa::IntType::U32}});
    return;
  }
  IsaOperand left = f.inReg(f.extended(a, type)), right = f.extended(b, type);
  if (form.mode() == Mod::Wide) {
    f.emit(IsaOp::IMAD, {d, left, right, c.word(0)}, {{IsaMod::Type, isa::IntType::U32}});
    return;
  }
  IsaOperand product = f.newR(), high = mad ? f.newR() : d;
  f.emit(IsaOp::IMAD, {product, left, right, IsaOperand::rz()}, {{IsaMod::Type, isa::IntType::U32}});
  f.emit(IsaOp::SHF, {high, IsaOperand::rz(), f.imm(16), product},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
  if (mad) f.emit(IsaOp::IADD3, {d, kNoCarry, kNoCarry, high, f.inReg(c.word(0)), IsaOperand::rz()});
}

/// mad.cc and madc: the product's low or high word, then an addition with carries.
void lowerMadCarry(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const unsigned words = FunctionLowering::wordsOf(type);
  Value a = f.source(ops[1], type), b = f.source(ops[2], type), c = f.source(ops[3], type);
  IsaOperand d = f.dest(ops[0]), product = f.newR(words);
  if (words == 2 && form.mode() == Mod::Hi)
    multiplyHigh64(f, product, f.inReg(a), f.inReg(b), isSigned(type));
  else if (words == 2)
    f.emit(IsaOp::IMUL64, {product, f.inReg(a), f.inReg(b)});
  else if (form.mode() == Mod::Hi)
    f.emit(IsaOp::IMAD_HI, {product, kNoCarry, f.inReg(a.word(0)), b.word(0), IsaOperand::rz()},
           {{IsaMod::Type, intType(type)}});
  else
    f.emit(IsaOp::IMAD, {product, f.inReg(a.word(0)), b.word(0), IsaOperand::rz()},
           {{IsaMod::Type, isa::IntType::U32}});
  const bool carryIn = form.op == Op::Madc;
  IsaOperand in = carryIn ? f.carry() : IsaOperand();
  const IsaOperand out = carryOut(f, form);
  for (unsigned w = 0; w < words; ++w) {
    const IsaOperand link = w + 1 == words ? out : f.newP();
    const IsaOperand left = ori::component(product, w), right = f.inReg(c.word(w));
    if (in.isNone())
      f.emit(IsaOp::IADD3, {ori::component(d, w), link, kNoCarry, left, right, IsaOperand::rz()});
    else
      f.emit(IsaOp::IADD3_X, {ori::component(d, w), link, kNoCarry, left, right, IsaOperand::rz(), in, kFalse});
    in = link;
  }
}

/// mul24, mad24: the operands are the low 24 bits; the product has 48.
void lowerMul24(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const bool mad = form.op == Op::Mad24;
  auto low24 = [&](const Operand& o) {
    IsaOperand shifted = f.newR(), r = f.newR();
    f.emit(IsaOp::SHF, {shifted, f.inReg(f.source(o, type).word(0)), f.imm(8), IsaOperand::rz()},
           {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
    f.emit(IsaOp::SHF, {r, IsaOperand::rz(), f.imm(8), shifted},
           {{IsaMod::ShiftDir, isa::ShiftDir::R},
            {IsaMod::ShiftType, isSigned(type) ? isa::ShiftType::S32 : isa::ShiftType::U32},
            {IsaMod::Hi, 1}});
    return r;
  };
  IsaOperand a = low24(ops[1]), b = low24(ops[2]);
  IsaOperand c = mad ? f.inReg(f.source(ops[3], type).word(0)) : IsaOperand::rz();
  IsaOperand d = f.dest(ops[0]);
  if (form.mode() == Mod::Lo) {
    f.emit(IsaOp::IMAD, {d, a, b, c}, {{IsaMod::Type, isa::IntType::U32}});
    return;
  }
  // Bits 16..47 of the product.
  IsaOperand product = f.newR(2), high = mad ? f.newR() : d;
  f.emit(IsaOp::IMAD_WIDE, {product, kNoCarry, a, b, IsaOperand::rz(2)}, {{IsaMod::Type, intType(type)}});
  f.emit(IsaOp::SHF, {high, ori::component(product, 0), f.imm(16), ori::component(product, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U64}});
  if (form.sat())
    addSaturating(f, d, high, c, false);
  else if (mad)
    f.emit(IsaOp::IADD3, {d, kNoCarry, kNoCarry, high, c, IsaOperand::rz()});
}

void lowerDivRem(FunctionLowering& f, const Instruction& i, const Form& form) {
  const Type type = form.type();
  if (isFloat(type)) {
    lowerFloatDivision(f, i, form);
    return;
  }
  auto ops = f.operands(i);
  IsaOperand a = f.inReg(f.source(ops[1], type)), b = f.inReg(f.source(ops[2], type));
  f.emit(form.op == Op::Div ? IsaOp::IDIV : IsaOp::IREM, {f.dest(ops[0]), a, b},
         {{IsaMod::MacroType, macroType(type)}});
}

void lowerAbsNeg(FunctionLowering& f, const Instruction& i, const Form& form) {
  const Type type = form.type();
  if (isFloat(type)) {
    lowerFloatArith(f, i, form);
    return;
  }
  auto ops = f.operands(i);
  Value a = f.source(ops[1], type);
  IsaOperand d = f.dest(ops[0]);
  const bool wide = bitWidth(type) == 64;
  if (form.op == Op::Neg) {
    if (wide)
      f.emit(IsaOp::IADD64, {d, IsaOperand::rz(2), f.inReg(a).negated()});
    else
      f.emit(IsaOp::IADD3, {d, kNoCarry, kNoCarry, IsaOperand::rz(), f.inReg(a.word(0)).negated(), IsaOperand::rz()});
    return;
  }
  if (!wide) {
    f.emit(IsaOp::IABS, {d, f.inReg(f.extended(a, type))});
    return;
  }
  // (a ^ sign) - sign, where sign is all ones for negative a.
  IsaOperand from = f.inReg(a), sign = f.newR(2), flipped = f.newR(2);
  f.emit(IsaOp::SHF, {ori::component(sign, 0), IsaOperand::rz(), f.imm(31), ori::component(from, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::S32}, {IsaMod::Hi, 1}});
  f.copy(ori::component(sign, 1), Value::of(ori::component(sign, 0)));
  for (unsigned w = 0; w < 2; ++w)
    f.emit(IsaOp::LOP3, {kNoCarry, ori::component(flipped, w), ori::component(from, w), ori::component(sign, 0),
                         IsaOperand::rz(), f.imm(0x3c), kFalse});
  f.emit(IsaOp::IADD64, {d, flipped, sign.negated()});
}

void lowerMinMax(FunctionLowering& f, const Instruction& i, const Form& form) {
  const Type type = form.type();
  if (isFloat(type)) {
    lowerFloatArith(f, i, form);
    return;
  }
  auto ops = f.operands(i);
  if (isPackedHalves(type) || form.has(Mod::Relu)) {
    if (!f.target().has(isa::Capability::VectorMinMax)) {
      const auto one = [&](IsaOperand d, IsaOperand a, IsaOperand b) {
        minMax(f, d, a, b, form.op == Op::Min, form.has(Mod::Relu), intType(type));
      };
      IsaOperand d = f.dest(ops[0]), a = f.sourceReg(ops[1], type), b = f.sourceReg(ops[2], type);
      if (isPackedHalves(type))
        byHalves(f, d, a, b, type, one);
      else
        one(d, a, b);
      return;
    }
    enum { U32, S32, U16x2, S16x2 };
    const int kind = type == Type::U16x2 ? U16x2 : type == Type::S16x2 ? S16x2 : isSigned(type) ? S32 : U32;
    f.emit(IsaOp::VIMNMX,
           {f.dest(ops[0]), f.sourceReg(ops[1], type), f.source(ops[2], type).word(0),
            form.op == Op::Min ? IsaOperand::pt() : kFalse},
           {{IsaMod::Type, kind}, {IsaMod::Relu, form.has(Mod::Relu) ? 1 : 0}});
    return;
  }
  Value a = f.source(ops[1], type), b = f.source(ops[2], type);
  IsaOperand d = f.dest(ops[0]);
  const bool minimum = form.op == Op::Min;
  if (bitWidth(type) == 64) {
    IsaOperand left = f.inReg(a), right = f.inReg(b), p = f.newP();
    compare64(f, p, left, right, minimum ? isa::ICmp::LT : isa::ICmp::GT, intType(type));
    for (unsigned w = 0; w < 2; ++w)
      f.emit(IsaOp::SEL, {ori::component(d, w), ori::component(left, w), ori::component(right, w), p});
    return;
  }
  // The predicate selects: true is the minimum.
  f.emit(f.target().has(isa::Capability::VectorMinMax) ? IsaOp::VIMNMX : IsaOp::IMNMX,
         {d, f.inReg(f.extended(a, type)), f.extended(b, type), minimum ? IsaOperand::pt() : kFalse},
         {{IsaMod::Type, intType(type)}});
}

/// dp4a, dp2a: c plus the sum of products of bytes, or of halves with the low or high bytes.
void lowerDotProduct(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const auto isSigned = [&](unsigned k) { return typeClass(form.type(k)) == TypeClass::Signed ? 1 : 0; };
  const ModValue left{IsaMod::SrcFmt, isSigned(0)}, right{IsaMod::DstFmt, isSigned(1)};
  IsaOperand a = f.sourceReg(ops[1], Type::B32), b = f.sourceReg(ops[2], Type::B32), c = f.sourceReg(ops[3], Type::B32);
  if (form.op == Op::Dp4a)
    f.emit(IsaOp::IDP_4A, {f.dest(ops[0]), a, b, c}, {left, right});
  else
    f.emit(IsaOp::IDP_2A, {f.dest(ops[0]), a, b, c}, {left, right, {IsaMod::Sub, form.mode() == Mod::Hi ? 1 : 0}});
}

/// sad: c + |a - b|.
void lowerSad(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  Value a = f.source(ops[1], type), b = f.source(ops[2], type), c = f.source(ops[3], type);
  IsaOperand d = f.dest(ops[0]), p = f.newP();
  if (bitWidth(type) == 64) {
    IsaOperand left = f.inReg(a), right = f.inReg(b), forward = f.newR(2), backward = f.newR(2), distance = f.newR(2);
    compare64(f, p, left, right, isa::ICmp::GE, intType(type));
    f.emit(IsaOp::IADD64, {forward, left, right.negated()});
    f.emit(IsaOp::IADD64, {backward, right, left.negated()});
    for (unsigned w = 0; w < 2; ++w)
      f.emit(IsaOp::SEL, {ori::component(distance, w), ori::component(forward, w), ori::component(backward, w), p});
    f.emit(IsaOp::IADD64, {d, distance, f.inReg(c)});
    return;
  }
  IsaOperand left = f.inReg(f.extended(a, type)), right = f.inReg(f.extended(b, type)), addend = f.inReg(c.word(0));
  if (isa::isListedFor(f.target(), IsaOp::VABSDIFF)) {
    f.emit(IsaOp::VABSDIFF, {d, kNoCarry, left, right, addend}, {{IsaMod::Type, intType(type)}});
    return;
  }
  IsaOperand forward = f.newR(), backward = f.newR();
  f.emit(IsaOp::ISETP, {p, kNoCarry, left, right, IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::GE}, {IsaMod::Type, intType(type)}, {IsaMod::Bool, isa::BoolOp::AND}});
  f.emit(IsaOp::IADD3, {forward, kNoCarry, kNoCarry, left, right.negated(), addend});
  f.emit(IsaOp::IADD3, {backward, kNoCarry, kNoCarry, right, left.negated(), addend});
  f.emit(IsaOp::SEL, {d, forward, backward, p});
}

} // namespace orias::ptx

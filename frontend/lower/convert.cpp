// cvt: between integers, between integers and floating point, between floating-point formats, and to integral values.

#include "frontend/lower/families.h"
#include "frontend/lower/float_helpers.h"
#include "frontend/lower/modifiers.h"

#include <bit>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

const IsaOperand kTrue = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

bool isSigned(Type t) {
  return typeClass(t) == TypeClass::Signed;
}
bool isFloat(Type t) {
  return typeClass(t) == TypeClass::Float;
}
bool isInteger(Type t) {
  return typeClass(t) == TypeClass::Signed || typeClass(t) == TypeClass::Unsigned || typeClass(t) == TypeClass::Bits;
}

/// The words of a source that hold a value of the type: its register may be wider.
Value source(FunctionLowering& f, const Operand& operand, Type type) {
  const Value value = f.source(operand, type);
  const unsigned words = FunctionLowering::wordsOf(type);
  return value.isConstant() || value.words() <= words ? value : Value::of(ori::component(value.reg(), 0, words));
}

IsaOperand sourceReg(FunctionLowering& f, const Operand& operand, Type type) {
  return f.inReg(source(f, operand, type));
}

isa::IntFmt intFmt(Type t) {
  switch (bitWidth(t)) {
  case 8: return isSigned(t) ? isa::IntFmt::S8 : isa::IntFmt::U8;
  case 16: return isSigned(t) ? isa::IntFmt::S16 : isa::IntFmt::U16;
  case 32: return isSigned(t) ? isa::IntFmt::S32 : isa::IntFmt::U32;
  default: return isSigned(t) ? isa::IntFmt::S64 : isa::IntFmt::U64;
  }
}

isa::Fmt floatFmt(Type t) {
  switch (t) {
  case Type::F16: return isa::Fmt::F16;
  case Type::BF16: return isa::Fmt::BF16;
  case Type::F64: return isa::Fmt::F64;
  default: return isa::Fmt::F32;
  }
}

bool roundsToIntegral(const Form& form) {
  const Mod m = form.rounding();
  return m == Mod::Rni || m == Mod::Rzi || m == Mod::Rmi || m == Mod::Rpi;
}

IsaOperand compareWord(FunctionLowering& f, IsaOperand a, isa::ICmp cmp, IsaOperand b, bool asSigned) {
  IsaOperand p = f.newP();
  f.emit(IsaOp::ISETP, {p, kTrue, a, b, kTrue},
         {{IsaMod::Cmp, cmp},
          {IsaMod::Type, asSigned ? isa::IntType::S32 : isa::IntType::U32},
          {IsaMod::Bool, isa::BoolOp::AND}});
  return p;
}

IsaOperand signOf(FunctionLowering& f, IsaOperand word) {
  IsaOperand sign = f.newR();
  f.emit(IsaOp::SHF, {sign, IsaOperand::rz(), f.imm(31), word},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::S32}, {IsaMod::Hi, 1}});
  return sign;
}

/// The smaller or larger of two words.
IsaOperand clampWord(FunctionLowering& f, IsaOperand a, std::int64_t limit, bool minimum, bool asSigned) {
  IsaOperand r = f.newR();
  f.emit(f.target().has(isa::Capability::VectorMinMax) ? IsaOp::VIMNMX : IsaOp::IMNMX,
         {r, a, f.imm(limit), minimum ? kTrue : kFalse},
         {{IsaMod::Type, asSigned ? isa::IntType::S32 : isa::IntType::U32}});
  return r;
}

std::int64_t smallest(Type t) {
  return isSigned(t) ? static_cast<std::int64_t>(~std::uint64_t{0} << (bitWidth(t) - 1)) : 0;
}
std::uint64_t largest(Type t) {
  return ~std::uint64_t{0} >> (64 - bitWidth(t) + (isSigned(t) ? 1 : 0));
}

/// Clamps a 64-bit value to the range of a type of at most 32 bits: returns the low word if the value is in range, else
/// the limit on the side of the sign.
IsaOperand clampPair(FunctionLowering& f, IsaOperand pair, Type from, Type to) {
  IsaOperand low = ori::component(pair, 0), high = ori::component(pair, 1);
  // First reduce it to 32 bits.
  const Type mid = isSigned(to) ? Type::S32 : Type::U32;
  IsaOperand expected = isSigned(to) ? signOf(f, low) : IsaOperand::rz();
  IsaOperand fits = compareWord(f, high, isa::ICmp::EQ, expected, false);
  if (!isSigned(from) && isSigned(to)) {
    // The high word of an unsigned source is never a sign.
    IsaOperand both = f.newP();
    f.emit(IsaOp::ISETP, {both, kTrue, high, IsaOperand::rz(), fits},
           {{IsaMod::Cmp, isa::ICmp::EQ}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
    fits = both;
  }
  IsaOperand limit = f.newR(), word = f.newR();
  IsaOperand top = f.inReg(f.imm(static_cast<std::int32_t>(largest(mid))));
  if (isSigned(from))
    f.emit(IsaOp::SEL, {limit, top, f.imm(static_cast<std::int32_t>(smallest(mid))),
                        compareWord(f, high, isa::ICmp::GE, IsaOperand::rz(), true)});
  else
    limit = top;
  f.emit(IsaOp::SEL, {word, low, limit, fits});
  return word;
}

void integerToInteger(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type to = form.type(0), from = form.type(1);
  const unsigned toBits = bitWidth(to), fromBits = bitWidth(from);
  Value a = source(f, ops[1], from);
  IsaOperand d = f.dest(ops[0]);
  IsaOperand result; // 32 bits, or the low word
  const bool narrows = largest(to) < largest(from) || smallest(to) > smallest(from);
  const bool saturates = form.sat() && narrows;
  const IsaOperand low = fromBits == 64 || (toBits <= fromBits && !saturates) ? a.word(0) : f.extended(a, from);
  if (toBits == 64) {
    IsaOperand pair = f.newR(2);
    if (fromBits == 64) {
      IsaOperand in = f.inReg(a);
      if (saturates) {
        // Negative numbers become 0; numbers above the signed range become its maximum.
        IsaOperand p = compareWord(f, ori::component(in, 1), isa::ICmp::GE, IsaOperand::rz(), true);
        IsaOperand top = isSigned(to) ? f.inReg(f.imm(0x7fffffff)) : IsaOperand::rz();
        f.emit(IsaOp::SEL,
               {ori::component(pair, 0), ori::component(in, 0), isSigned(to) ? f.imm(-1) : IsaOperand::rz(), p});
        f.emit(IsaOp::SEL, {ori::component(pair, 1), ori::component(in, 1), top, p});
      } else {
        f.copy(pair, Value::of(in));
      }
    } else {
      IsaOperand word = f.inReg(low);
      if (saturates) word = clampWord(f, word, 0, false, true);
      f.copy(ori::component(pair, 0), Value::of(word));
      f.copy(ori::component(pair, 1),
             isSigned(from) && !saturates ? Value::of(signOf(f, word)) : Value::constant(0, 1));
    }
    f.copy(d, Value::of(pair));
    return;
  }
  result = low;
  if (saturates) {
    IsaOperand word = fromBits == 64 ? clampPair(f, f.inReg(a), from, to) : f.inReg(low);
    // From here on the word has this signedness.
    const bool wordSigned = fromBits == 64 ? isSigned(to) : isSigned(from);
    if (fromBits != 64 || toBits < 32) {
      if (wordSigned && smallest(to) > (fromBits == 64 ? INT32_MIN : smallest(from)))
        word = clampWord(f, word, smallest(to), false, true);
      const std::uint64_t fromTop = fromBits == 64 ? largest(wordSigned ? Type::S32 : Type::U32) : largest(from);
      if (largest(to) < fromTop) word = clampWord(f, word, static_cast<std::int64_t>(largest(to)), true, wordSigned);
    }
    result = word;
  }
  // A narrow value is extended in a wider register; the upper half of a 16-bit register is ignored.
  Value value = result.isReg() ? Value::of(ori::component(result, 0))
                               : Value::constant(static_cast<std::uint32_t>(result.imm), 1);
  const bool upperMatters = toBits == 8 || !ops[0].is(OperandKind::Register) || bitWidth(f.typeOf(ops[0])) > 16;
  IsaOperand narrow = toBits < 32 && toBits <= fromBits && !saturates && upperMatters ? f.extended(value, to) : result;
  if (d.width == 2) {
    IsaOperand word = f.inReg(narrow);
    f.copy(ori::component(d, 0), Value::of(word));
    f.copy(ori::component(d, 1), isSigned(to) ? Value::of(signOf(f, word)) : Value::constant(0, 1));
  } else {
    f.emit(IsaOp::MOV, {d, narrow});
  }
}

/// Clamps an f32 or f64 to [0, 1].
void saturate(FunctionLowering& f, IsaOperand d, IsaOperand a, Type type, bool ftz) {
  if (type == Type::F64) {
    IsaOperand raised = f.newR(2);
    minMaxF64(f, raised, f.inReg(Value::constant(0, 2)), a, false);
    minMaxF64(f, d, raised, f.inReg(Value::constant(std::bit_cast<std::uint64_t>(1.0), 2)), true);
  } else {
    f.emit(IsaOp::FADD, {d, IsaOperand::rz(), a}, {{IsaMod::Sat, 1}, {IsaMod::Ftz, ftz ? 1 : 0}});
  }
}

/// Clamps a half to [0, 1] by adding -0 with saturation.
void saturateHalf(FunctionLowering& f, IsaOperand d, IsaOperand half) {
  half.half = IsaOperand::Half::H0H0;
  IsaOperand zero = IsaOperand::rz().negated();
  zero.half = IsaOperand::Half::H0H0;
  f.emit(IsaOp::HADD2, {d, half, zero}, {{IsaMod::Sat, 1}});
}

/// The destination of a float: the low word of a wider register (lowerCvt clears the high one).
IsaOperand floatDest(FunctionLowering& f, const Operand& to, Type type) {
  const IsaOperand d = f.dest(to);
  return d.width == 2 && type != Type::F64 ? ori::component(d, 0) : d;
}

void integerToFloat(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type to = form.type(0), from = form.type(1);
  Value a = source(f, ops[1], from);
  IsaOperand d = floatDest(f, ops[0], to);
  IsaOperand result = form.sat() ? f.newR(to == Type::F64 ? 2 : 1) : d;
  if (form.sat() && to != Type::F16 && to != Type::F32 && to != Type::F64) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const isa::Rnd rnd = rounding(form);
  if (f.target().has(isa::Capability::AluIntegerToFloat) && to == Type::F32 && bitWidth(from) == 32 &&
      (rnd == isa::Rnd::RN || rnd == isa::Rnd::RZ)) {
    f.emit(IsaOp::I2FP, {result, f.inReg(a)},
           {{IsaMod::Type, isSigned(from) ? isa::IntType::S32 : isa::IntType::U32}, {IsaMod::Rnd, rnd}});
  } else {
    const bool wide = to == Type::F64 || bitWidth(from) == 64;
    f.emit(wide ? IsaOp::I2F_64 : IsaOp::I2F, {result, f.inReg(a)},
           {{IsaMod::DstFmt, floatFmt(to)}, {IsaMod::SrcFmt, intFmt(from)}, {IsaMod::Rnd, rnd}});
  }
  if (form.sat() && to == Type::F16)
    saturateHalf(f, d, result);
  else if (form.sat())
    saturate(f, d, result, to, false);
}

void floatToInteger(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type to = form.type(0), from = form.type(1);
  IsaOperand a = sourceReg(f, ops[1], from), d = f.dest(ops[0]);
  const bool wide = from == Type::F64 || bitWidth(to) == 64;
  // NaN converts to zero in the 32-bit instruction. The 64-bit instruction has no such modifier. Both clamp to the
  // range of the integer.
  std::vector<ModValue> mods{{IsaMod::DstFmt, intFmt(to)},
                             {IsaMod::SrcFmt, floatFmt(from)},
                             {IsaMod::Round, integralRounding(form)},
                             {IsaMod::Ftz, form.ftz() ? 1 : 0},
                             {IsaMod::Ntz, wide ? 0 : 1}};
  const unsigned words = bitWidth(to) == 64 ? 2 : 1;
  if (d.width == words) {
    f.emit(wide ? IsaOp::F2I_64 : IsaOp::F2I, {d, a}, mods);
    return;
  }
  // A result of 8 to 32 bits is extended in a 64-bit register.
  IsaOperand word = f.newR();
  f.emit(wide ? IsaOp::F2I_64 : IsaOp::F2I, {word, a}, mods);
  f.copy(ori::component(d, 0), Value::of(word));
  f.copy(ori::component(d, 1), isSigned(to) ? Value::of(signOf(f, word)) : Value::constant(0, 1));
}

/// Packs one or two f32 as halves (f16 or bf16).
bool packHalves(FunctionLowering& f, const Form& form, IsaOperand d, IsaOperand high, IsaOperand low) {
  const Type to = form.type(0);
  const bool brain = to == Type::BF16 || to == Type::BF16x2;
  if (form.rounding() != Mod::Rn && form.rounding() != Mod::Rz) return false;
  f.emit(IsaOp::F2FP, {d, high, low},
         {{IsaMod::DstFmt, brain ? 1 : 0},
          {IsaMod::Rnd, rounding(form)},
          {IsaMod::Relu, form.has(Mod::Relu) ? 1 : 0},
          {IsaMod::Sat, form.has(Mod::Satfinite) ? 1 : 0}});
  return true;
}

void floatToFloat(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type to = form.type(0), from = form.type(1);
  auto unsupported = [&] { f.unsupported(std::string(f.opcodeText())); };
  const ModValue ftz{IsaMod::Ftz, form.ftz() ? 1 : 0};
  if (to == Type::F16x2 || to == Type::BF16x2) {
    if (from != Type::F32 || ops.size() != 3) return unsupported();
    IsaOperand high = sourceReg(f, ops[1], from), low = source(f, ops[2], from).word(0);
    if (!packHalves(f, form, floatDest(f, ops[0], to), high, low)) unsupported();
    return;
  }
  const bool known = (from == Type::F16 || from == Type::BF16 || from == Type::F32 || from == Type::F64) &&
                     (to == Type::F16 || to == Type::BF16 || to == Type::F32 || to == Type::F64);
  const bool halfResult = to == Type::F16 || to == Type::BF16;
  const bool clampsHalf = to == Type::F16 && form.sat() && from != Type::BF16 && !roundsToIntegral(form);
  if (!known || (halfResult && form.sat() && !clampsHalf)) return unsupported();
  IsaOperand a = sourceReg(f, ops[1], from), d = floatDest(f, ops[0], to);
  const bool wide = to == Type::F64 || from == Type::F64;
  if (clampsHalf) {
    IsaOperand half = from == Type::F16 ? a : f.newR();
    if (from != Type::F16)
      f.emit(wide ? IsaOp::F2F_64 : IsaOp::F2F, {half, a},
             {{IsaMod::DstFmt, isa::Fmt::F16}, {IsaMod::SrcFmt, floatFmt(from)}, {IsaMod::Rnd, rounding(form)}, ftz});
    saturateHalf(f, d, half);
    return;
  }
  if (to == from) {
    if (roundsToIntegral(form)) {
      IsaOperand result = form.sat() ? f.newR(wide ? 2 : 1) : d;
      f.emit(wide ? IsaOp::FRND_64 : IsaOp::FRND, {result, a},
             {{IsaMod::DstFmt, floatFmt(to)},
              {IsaMod::SrcFmt, floatFmt(from)},
              {IsaMod::Round, integralRounding(form)},
              ftz});
      if (form.sat()) saturate(f, d, result, to, form.ftz());
    } else if (form.sat()) {
      saturate(f, d, a, to, form.ftz());
    } else if (to == Type::F32 && form.ftz()) {
      f.emit(IsaOp::FADD, {d, a, IsaOperand::rz().negated()}, {ftz});
    } else {
      f.copy(d, Value::of(a));
    }
    return;
  }
  if (to == Type::F16 && from == Type::BF16) {
    // Exact as f32, which is a source format of the conversion unit.
    IsaOperand middle = f.newR();
    f.emit(IsaOp::SHF, {middle, a, f.imm(16), IsaOperand::rz()},
           {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
    f.emit(IsaOp::F2F, {d, middle},
           {{IsaMod::DstFmt, isa::Fmt::F16}, {IsaMod::SrcFmt, isa::Fmt::F32}, {IsaMod::Rnd, rounding(form)}});
    return;
  }
  if (halfResult && from == Type::F32) {
    if (packHalves(f, form, d, IsaOperand::rz(), a)) return;
    if (form.has(Mod::Relu) || form.has(Mod::Satfinite)) return unsupported();
  }
  if (to == Type::F32 && (from == Type::F16 || from == Type::BF16)) {
    IsaOperand result = form.sat() ? f.newR() : d;
    if (from == Type::F16) {
      // Takes the low half of the source; adding -0 changes nothing.
      IsaOperand low = a;
      low.half = IsaOperand::Half::H0H0;
      f.emit(IsaOp::HADD2_F32, {result, IsaOperand::rz().negated(), low});
    } else {
      f.emit(IsaOp::SHF, {result, a, f.imm(16), IsaOperand::rz()},
             {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
    }
    if (form.sat()) saturate(f, d, result, to, false);
    return;
  }
  // The conversion unit flushes neither f32 results of f64 nor subnormal sources.
  if (form.ftz() && from == Type::F32 && wide) {
    IsaOperand flushed = f.newR();
    f.emit(IsaOp::FADD, {flushed, a, IsaOperand::rz().negated()}, {ftz});
    a = flushed;
  }
  const bool flushResult = form.ftz() && to == Type::F32;
  IsaOperand result = flushResult || form.sat() ? f.newR(to == Type::F64 ? 2 : 1) : d;
  f.emit(wide ? IsaOp::F2F_64 : IsaOp::F2F, {result, a},
         {{IsaMod::DstFmt, floatFmt(to)}, {IsaMod::SrcFmt, floatFmt(from)}, {IsaMod::Rnd, rounding(form)}});
  if (form.sat())
    saturate(f, d, result, to, form.ftz());
  else if (flushResult)
    f.emit(IsaOp::FADD, {d, result, IsaOperand::rz().negated()}, {ftz});
}

bool isFp8Pair(Type t) {
  return t == Type::E4M3x2 || t == Type::E5M2x2;
}

/// Pairs of 8-bit numbers.
void convertFp8(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type to = form.type(0), from = form.type(1);
  const ModValue relu{IsaMod::Relu, form.has(Mod::Relu) ? 1 : 0}, sat{IsaMod::Sat, form.has(Mod::Satfinite) ? 1 : 0};
  const ModValue format{IsaMod::DstFmt, to == Type::E4M3x2 ? 1 : 0};
  if (to == Type::F16x2 && isFp8Pair(from)) {
    f.emit(IsaOp::F2FP_UNPACK, {f.dest(ops[0]), sourceReg(f, ops[1], Type::B16)},
           {relu, {IsaMod::SrcFmt, from == Type::E4M3x2 ? 1 : 0}});
  } else if (isFp8Pair(to) && from == Type::F16x2) {
    f.emit(IsaOp::F2FP_FP8_F16, {f.dest(ops[0]), sourceReg(f, ops[1], Type::B32), IsaOperand::rz()},
           {relu, sat, format});
  } else if (isFp8Pair(to) && from == Type::F32 && ops.size() == 3) {
    const IsaOperand high = sourceReg(f, ops[1], from), low = source(f, ops[2], from).word(0);
    f.emit(IsaOp::F2FP_FP8, {f.dest(ops[0]), high, low, IsaOperand::rz()}, {relu, sat, format});
  } else {
    f.unsupported(std::string(f.opcodeText()));
  }
}

bool isNarrowPair(Type t) {
  return t == Type::E2M1x2 || t == Type::E2M3x2 || t == Type::E3M2x2 || t == Type::UE8M0x2;
}

/// Pairs of six-bit and four-bit numbers, and of exponents.
void convertNarrow(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type to = form.type(0), from = form.type(1);
  const ModValue relu{IsaMod::Relu, form.has(Mod::Relu) ? 1 : 0}, sat{IsaMod::Sat, form.has(Mod::Satfinite) ? 1 : 0};
  const ModValue rnd{IsaMod::Rnd, rounding(form)};
  const IsaOperand d = f.dest(ops[0]);
  if (isNarrowPair(from)) {
    const IsaOperand a = sourceReg(f, ops[1], from == Type::E2M1x2 ? Type::B8 : Type::B16);
    if (from == Type::E2M1x2)
      f.emit(IsaOp::F2FP_UNPACK_E2M1, {d, a}, {relu});
    else if (from == Type::UE8M0x2)
      f.emit(IsaOp::F2FP_UNPACK_EXPONENT, {d, a});
    else
      f.emit(IsaOp::F2FP_UNPACK_NARROW, {d, a}, {relu, {IsaMod::SrcFmt, from == Type::E3M2x2 ? 1 : 0}});
    return;
  }
  if (from == Type::BF16x2) {
    f.emit(IsaOp::F2FP_EXPONENT_BF16, {d, sourceReg(f, ops[1], Type::B32), IsaOperand::rz()}, {sat, rnd});
    return;
  }
  const IsaOperand high = sourceReg(f, ops[1], from), low = source(f, ops[2], from).word(0);
  enum { kE2m1 = 3, kE2m3 = 6, kE3m2 = 7 };
  if (to == Type::UE8M0x2)
    f.emit(IsaOp::F2FP_EXPONENT, {d, high, low, IsaOperand::rz()}, {sat, rnd});
  else
    f.emit(IsaOp::F2FP_NARROW, {d, high, low, IsaOperand::rz()},
           {relu,
            sat,
            {IsaMod::DstFmt, to == Type::E2M1x2   ? kE2m1
                             : to == Type::E2M3x2 ? kE2m3
                                                  : kE3m2}});
}

/// Packed f32 numbers, rounded with random bits. Of four numbers, the first two use the upper half of the random bits;
/// their result is in the lower half of the input of the other two (as in ptxas' code).
void roundByChance(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type to = form.type(0);
  const IsaOperand d = f.dest(ops[0]), chance = sourceReg(f, ops.back(), Type::B32);
  std::vector<ModValue> mods{{IsaMod::Relu, form.has(Mod::Relu) ? 1 : 0},
                             {IsaMod::Sat, form.has(Mod::Satfinite) ? 1 : 0}};
  if (to == Type::F16x2 || to == Type::BF16x2) {
    mods.push_back({IsaMod::DstFmt, to == Type::BF16x2 ? 1 : 0});
    f.emit(IsaOp::F2FP_RS, {d, sourceReg(f, ops[1], Type::F32), sourceReg(f, ops[2], Type::F32), chance}, mods);
    return;
  }
  enum { kE2m1 = 3, kE2m3 = 6, kE3m2, kE5m2, kE4m3 };
  mods.push_back({IsaMod::DstFmt, to == Type::E2M1x4   ? kE2m1
                                  : to == Type::E2M3x4 ? kE2m3
                                  : to == Type::E3M2x4 ? kE3m2
                                  : to == Type::E5M2x4 ? kE5m2
                                                       : kE4m3});
  const auto parts = f.parts(ops[1]);
  const IsaOperand first = f.newR();
  f.emit(IsaOp::F2FP_RS_MERGE, {first, sourceReg(f, parts[0], Type::F32), sourceReg(f, parts[1], Type::F32), chance},
         mods);
  f.emit(IsaOp::F2FP_RS_MERGE, {d, sourceReg(f, parts[2], Type::F32), sourceReg(f, parts[3], Type::F32), first}, mods);
}

/// Rounds an f32 to the 19 bits of tf32, in place. Round to nearest with ties away from zero requires an addition.
void toTf32(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  if (form.rounding() == Mod::Rn || form.rounding() == Mod::Rz) {
    const bool saturates = form.has(Mod::Satfinite);
    f.emit(saturates ? IsaOp::F2FP_TF32_SAT : IsaOp::F2FP_TF32, {f.dest(ops[0]), sourceReg(f, ops[1], Type::F32)},
           {{IsaMod::Rnd, rounding(form)}, {IsaMod::Relu, form.has(Mod::Relu) ? 1 : 0}});
    return;
  }
  if (form.rounding() != Mod::Rna) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  IsaOperand a = sourceReg(f, ops[1], Type::F32), d = f.dest(ops[0]);
  IsaOperand p = f.newP(), increment = f.newR(), sum = f.newR();
  constexpr std::int32_t kInfinity = 0x7f800000;
  f.emit(IsaOp::FSETP, {p, kTrue, a.absolute(), f.imm(kInfinity), kTrue},
         {{IsaMod::Cmp, isa::FCmp::GEU}, {IsaMod::Bool, isa::BoolOp::AND}});
  f.emit(IsaOp::SEL, {increment, IsaOperand::rz(), f.imm(0x1000), p});
  f.emit(IsaOp::IADD3, {sum, kTrue, kTrue, a, increment, IsaOperand::rz()});
  const bool isFinite = form.has(Mod::Satfinite);
  const IsaOperand kept = isFinite ? f.newR() : d;
  f.emit(IsaOp::LOP3,
         {kTrue, kept, sum, f.imm(static_cast<std::int32_t>(0xffffe000)), IsaOperand::rz(), f.imm(0xc0), kFalse});
  if (!isFinite) return;
  // The value below infinity is the largest finite number.
  const IsaOperand isInfinite = f.newP(), excess = f.newR();
  f.emit(IsaOp::FSETP, {isInfinite, kTrue, kept.absolute(), f.imm(kInfinity), kTrue},
         {{IsaMod::Cmp, isa::FCmp::EQ}, {IsaMod::Bool, isa::BoolOp::AND}});
  f.emit(IsaOp::SEL, {excess, f.inReg(f.imm(-0x2000)), IsaOperand::rz(), isInfinite});
  f.emit(IsaOp::IADD3, {d, kTrue, kTrue, kept, excess, IsaOperand::rz()});
}

/// cvt.pack: a and b, clamped and packed; with c, c is the upper half.
void pack(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type to = form.type(0);
  const unsigned bits = bitWidth(to);
  if (bits < 8) {
    f.emit(bits == 4 ? IsaOp::I2IP_4 : IsaOp::I2IP_2,
           {f.dest(ops[0]), sourceReg(f, ops[1], Type::S32), sourceReg(f, ops[2], Type::S32),
            sourceReg(f, ops[3], Type::B32)},
           {{IsaMod::DstFmt, typeClass(to) == TypeClass::Signed ? 1 : 0}});
    return;
  }
  auto clamped = [&](const Operand& o) {
    IsaOperand raised = clampWord(f, sourceReg(f, o, Type::S32), smallest(to), false, true);
    return clampWord(f, raised, static_cast<std::int64_t>(largest(to)), true, true);
  };
  IsaOperand a = clamped(ops[1]), b = clamped(ops[2]), d = f.dest(ops[0]);
  if (bits == 16) {
    f.emit(IsaOp::PRMT, {d, b, f.imm(0x5410), a});
    return;
  }
  IsaOperand low = f.newR();
  f.emit(IsaOp::PRMT, {low, b, f.imm(0x0040), a});
  f.emit(IsaOp::PRMT, {d, low, f.imm(0x5410), f.inReg(source(f, ops[3], Type::B32).word(0))});
}

} // namespace

void lowerCvt(FunctionLowering& f, const Instruction& i, const Form& form) {
  const Type to = form.type(0), from = form.type(1);
  if (form.op == Op::CvtPack || form.has(Mod::Pack))
    pack(f, i, form);
  else if (to == Type::TF32)
    toTf32(f, i, form);
  else if (form.rounding() == Mod::Rs)
    roundByChance(f, i, form);
  else if (isNarrowPair(to) || isNarrowPair(from))
    convertNarrow(f, i, form);
  else if (isFp8Pair(to) || isFp8Pair(from))
    convertFp8(f, i, form);
  else if (isInteger(to) && isInteger(from))
    integerToInteger(f, i, form);
  else if (isFloat(to) && isInteger(from))
    integerToFloat(f, i, form);
  else if (isInteger(to) && isFloat(from))
    floatToInteger(f, i, form);
  else
    floatToFloat(f, i, form);
  if (!isInteger(to) && to != Type::F64)
    if (const IsaOperand d = f.dest(f.operands(i)[0]); d.width == 2)
      f.copy(ori::component(d, 1), Value::constant(0, 1));
}

} // namespace orias::ptx

// Logic, shifts, counting and searching bits, bit fields, permutation of bytes. The sequences are those that ptxas
// emits for sm_90, or shorter equivalents.

#include "frontend/lower/families.h"

#include <utility>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

const IsaOperand kTrue = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

// Truth tables of LOP3 and PLOP3: bit (a<<2 | b<<1 | c).
constexpr unsigned kA = 0xf0, kB = 0xcc, kC = 0xaa;
constexpr unsigned kChoose = (kB & kA) | (~kB & kC & 0xff); // b ? a : c

IsaOperand lut(unsigned table) {
  return IsaOperand::immediate(static_cast<std::int32_t>(table));
}

void lop3(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand b, IsaOperand c, unsigned table) {
  f.emit(IsaOp::LOP3, {kTrue, d, a, b, c, lut(table), kFalse});
}

/// d := a << n; counts past 31 give 0.
void shiftLeft(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand n) {
  f.emit(IsaOp::SHF, {d, f.inReg(a), n, IsaOperand::rz()},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
}

/// d := a >> n; counts past 31 give 0 or copies of the sign.
void shiftRight(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand n, bool isSigned) {
  f.emit(IsaOp::SHF, {d, IsaOperand::rz(), n, f.inReg(a)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R},
          {IsaMod::ShiftType, isSigned ? isa::ShiftType::S32 : isa::ShiftType::U32},
          {IsaMod::Hi, 1}});
}

/// d := a << n on pairs that do not overlap.
void shiftLeft64(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand n) {
  f.emit(IsaOp::SHF, {ori::component(d, 1), ori::component(a, 0), n, ori::component(a, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U64}, {IsaMod::Hi, 1}});
  shiftLeft(f, ori::component(d, 0), ori::component(a, 0), n);
}

/// d := a >> n on pairs that do not overlap.
void shiftRight64(FunctionLowering& f, IsaOperand d, IsaOperand a, IsaOperand n, bool isSigned) {
  f.emit(IsaOp::SHF, {ori::component(d, 0), ori::component(a, 0), n, ori::component(a, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R},
          {IsaMod::ShiftType, isSigned ? isa::ShiftType::S64 : isa::ShiftType::U64}});
  shiftRight(f, ori::component(d, 1), ori::component(a, 1), n, isSigned);
}

/// Position and length of a bit field are taken modulo 256.
IsaOperand lowByte(FunctionLowering& f, const Operand& operand) {
  Value v = f.source(operand, Type::U32);
  if (v.isConstant()) return f.imm(static_cast<std::int32_t>(v.bits() & 0xff));
  IsaOperand r = f.newR();
  lop3(f, r, v.word(0), f.imm(0xff), IsaOperand::rz(), kA & kB);
  return r;
}

/// max(64 - length, 0): the left shift that moves a field in 64 bits to the top.
IsaOperand bitsAbove(FunctionLowering& f, IsaOperand length) {
  if (!length.isReg() || length.isZeroReg()) {
    const int n = length.isReg() ? 0 : length.imm;
    return f.imm(n > 64 ? 0 : 64 - n);
  }
  IsaOperand rest = f.newR(), r = f.newR();
  f.emit(IsaOp::IADD3, {rest, kTrue, kTrue, length.negated(), f.imm(64), IsaOperand::rz()});
  f.emit(f.target().has(isa::Capability::VectorMinMax) ? IsaOp::VIMNMX : IsaOp::IMNMX,
         {r, rest, IsaOperand::rz(), kFalse}, {{IsaMod::Type, isa::IntType::S32}});
  return r;
}

IsaOperand isNonZero(FunctionLowering& f, IsaOperand a) {
  IsaOperand p = f.newP();
  f.emit(IsaOp::ISETP, {p, kTrue, a, IsaOperand::rz(), kTrue},
         {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  return p;
}

/// The number of the highest set bit of a, -1 for 0.
void findLeading(FunctionLowering& f, IsaOperand d, IsaOperand a, bool isSigned = false, bool shiftAmount = false) {
  f.emit(IsaOp::FLO, {d, kTrue, a},
         {{IsaMod::Type, isSigned ? isa::IntType::S32 : isa::IntType::U32}, {IsaMod::Sub, shiftAmount ? 1 : 0}});
}

void lowerPredicateLogic(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  // The third input is PT; these are the tables that ptxas uses with it.
  unsigned table = 0x80;
  IsaOperand a = f.predicate(ops[1]), b = kTrue;
  if (form.op == Op::Not)
    a = a.notted();
  else
    b = f.predicate(ops[2]);
  if (form.op == Op::Or) table = 0xa8;
  if (form.op == Op::Xor) table = 0x28;
  f.emit(IsaOp::PLOP3, {f.destPredicate(ops[0]), kTrue, a, b, kTrue, lut(table), lut(0)});
}

} // namespace

/// and or xor not.
void lowerLogic(FunctionLowering& f, const Instruction& i, const Form& form) {
  const Type type = form.type();
  if (type == Type::Pred) {
    lowerPredicateLogic(f, i, form);
    return;
  }
  auto ops = f.operands(i);
  Value a = f.source(ops[1], type),
        b = form.op == Op::Not ? Value::constant(0, FunctionLowering::wordsOf(type)) : f.source(ops[2], type);
  IsaOperand d = f.dest(ops[0]);
  if (a.isConstant() && !b.isConstant()) std::swap(a, b);
  const unsigned table = form.op == Op::Not   ? ~kA & 0xff
                         : form.op == Op::And ? kA & kB
                         : form.op == Op::Or  ? kA | kB
                                              : kA ^ kB;
  // The words are independent.
  for (unsigned w = 0; w < FunctionLowering::wordsOf(type); ++w)
    lop3(f, ori::component(d, w), f.inReg(a.word(w)), b.word(w), IsaOperand::rz(), table);
}

/// cnot: 1 where the source is 0, else 0.
void lowerCnot(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  Value a = f.source(ops[1], type);
  IsaOperand d = f.dest(ops[0]);
  IsaOperand bits;
  if (bitWidth(type) == 64) {
    IsaOperand from = f.inReg(a);
    bits = f.newR();
    lop3(f, bits, ori::component(from, 0), ori::component(from, 1), IsaOperand::rz(), kA | kB);
  } else {
    bits = f.inReg(f.extended(a, type));
  }
  IsaOperand p = isNonZero(f, bits);
  f.emit(IsaOp::SEL, {ori::component(d, 0), IsaOperand::rz(), f.imm(1), p});
  if (bitWidth(type) == 64) f.copy(ori::component(d, 1), Value::constant(0, 1));
}

/// lop3, with or without a predicate: d|p = lop3(a, b, c), p = (d != 0) and/or q.
void lowerLop3(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  auto word = [&](unsigned k) { return f.source(ops[k], Type::B32).word(0); };
  const IsaOperand table = lut(static_cast<unsigned>(ops[4].bits()) & 0xff);
  IsaOperand a = f.inReg(word(1)), b = word(2), c = word(3);
  if (ops.size() <= 5) {
    f.emit(IsaOp::LOP3, {kTrue, f.dest(ops[0]), a, b, c, table, kFalse});
    return;
  }
  const bool both = form.boolOp() == Mod::And || form.action() == Mod::And;
  IsaOperand p = f.destPredicate(ops[0], 1);
  const bool sink = ops[0].is(OperandKind::Sink) || ops[0].registerId() == RegisterId::None;
  IsaOperand d = sink ? IsaOperand::rz() : f.dest(Operand::reg(ops[0].registerId()));
  f.emit(IsaOp::LOP3, {p, d, a, b, c, table, f.predicate(ops[5])}, {{IsaMod::Pand, both ? 1 : 0}});
}

/// shl shr.
void lowerShift(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const bool left = form.op == Op::Shl, isSigned = typeClass(type) == TypeClass::Signed;
  Value a = f.source(ops[1], type);
  IsaOperand n = f.source(ops[2], Type::U32).word(0), d = f.dest(ops[0]);
  if (bitWidth(type) == 64) {
    IsaOperand from = f.inReg(a), result = f.newR(2);
    left ? shiftLeft64(f, result, from, n) : shiftRight64(f, result, from, n, isSigned);
    f.copy(d, Value::of(result));
  } else if (left) {
    shiftLeft(f, d, a.word(0), n);
  } else {
    shiftRight(f, d, f.extended(a, type == Type::B16 ? Type::U16 : type), n, isSigned);
  }
}

/// shf: the high word of {b,a} << n, or the low word of {b,a} >> n; the count clamped to 32 or modulo 32.
void lowerShf(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool left = form.has(Mod::L), wrap = form.has(Mod::Wrap);
  auto word = [&](unsigned k) { return f.source(ops[k], Type::B32).word(0); };
  IsaOperand a = f.inReg(word(1)), b = f.inReg(word(2)), n = word(3);
  f.emit(IsaOp::SHF, {f.dest(ops[0]), a, n, b},
         {{IsaMod::ShiftDir, left ? isa::ShiftDir::L : isa::ShiftDir::R},
          {IsaMod::Wrap, wrap ? 1 : 0},
          {IsaMod::ShiftType, isa::ShiftType::U32},
          {IsaMod::Hi, left ? 1 : 0}});
}

/// popc clz bfind brev.
void lowerBitCount(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const bool wide = bitWidth(type) == 64, isSigned = typeClass(type) == TypeClass::Signed;
  IsaOperand a = f.inReg(f.source(ops[1], type)), d = f.dest(ops[0]);
  const IsaOperand low = ori::component(a, 0), high = ori::component(a, 1);
  switch (form.op) {
  case Op::Popc:
    if (wide) {
      IsaOperand first = f.newR(), second = f.newR();
      f.emit(IsaOp::POPC, {first, low});
      f.emit(IsaOp::POPC, {second, high});
      f.emit(IsaOp::IADD3, {d, kTrue, kTrue, first, second, IsaOperand::rz()});
    } else {
      f.emit(IsaOp::POPC, {d, a});
    }
    return;
  case Op::Brev:
    if (wide) {
      IsaOperand result = f.newR(2);
      f.emit(IsaOp::BREV, {ori::component(result, 1), low});
      f.emit(IsaOp::BREV, {ori::component(result, 0), high});
      f.copy(d, Value::of(result));
    } else {
      f.emit(IsaOp::BREV, {d, a});
    }
    return;
  case Op::Clz: {
    // FLO gives -1 for 0, so that 31 - FLO counts 32 zeros then.
    IsaOperand searched = a, position = f.newR(), limit = f.imm(31);
    if (wide) {
      IsaOperand p = isNonZero(f, high), top = f.newR();
      searched = f.newR();
      f.emit(IsaOp::SEL, {searched, high, low, p});
      f.emit(IsaOp::SEL, {top, f.inReg(f.imm(31)), f.imm(63), p});
      limit = top;
    }
    findLeading(f, position, searched);
    f.emit(IsaOp::IADD3, {d, kTrue, kTrue, position.negated(), limit, IsaOperand::rz()});
    return;
  }
  default: break;
  }
  // bfind: the highest bit that differs from the sign, or its distance from the top.
  const bool shiftAmount = form.has(Mod::Shiftamt);
  if (!wide) {
    findLeading(f, d, a, isSigned, shiftAmount);
    return;
  }
  IsaOperand lower = low, upper = high;
  if (isSigned) {
    IsaOperand sign = f.newR();
    lower = f.newR();
    upper = f.newR();
    shiftRight(f, sign, high, f.imm(31), true);
    lop3(f, lower, low, sign, IsaOperand::rz(), kA ^ kB);
    lop3(f, upper, high, sign, IsaOperand::rz(), kA ^ kB);
  }
  IsaOperand inUpper = f.newR(), inLower = f.newR(), shifted = f.newR();
  IsaOperand result = shiftAmount ? f.newR() : d;
  IsaOperand p = isNonZero(f, upper);
  findLeading(f, inUpper, upper);
  findLeading(f, inLower, lower);
  f.emit(IsaOp::IADD3, {shifted, kTrue, kTrue, inUpper, f.imm(32), IsaOperand::rz()});
  f.emit(IsaOp::SEL, {result, shifted, inLower, p});
  if (!shiftAmount) return;
  // 63 - n is 63 ^ n for n in 0..63; "none" stays -1.
  IsaOperand found = f.newP(), distance = f.newR();
  f.emit(IsaOp::ISETP, {found, kTrue, result, f.imm(-1), kTrue},
         {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  lop3(f, distance, result, f.imm(63), IsaOperand::rz(), kA ^ kB);
  f.emit(IsaOp::SEL, {d, distance, f.imm(-1), found});
}

/// bfe: a field of `length` bits at `position`, extended to the full width.
void lowerBfe(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  const bool isSigned = typeClass(type) == TypeClass::Signed;
  IsaOperand a = f.inReg(f.source(ops[1], type)), position = lowByte(f, ops[2]), length = lowByte(f, ops[3]);
  IsaOperand d = f.dest(ops[0]);
  if (bitWidth(type) == 32) {
    IsaOperand field = f.newR();
    shiftRight(f, field, a, position, isSigned);
    f.emit(IsaOp::SGXT, {d, field, length}, {{IsaMod::Type, isSigned ? isa::IntType::S32 : isa::IntType::U32}});
    return;
  }
  // Shift to the bottom (copies of the sign enter at the top), to the top, and down again. Shift counts of 64 give 0.
  IsaOperand bottom = f.newR(2), top = f.newR(2), result = f.newR(2), above = bitsAbove(f, length);
  shiftRight64(f, bottom, a, position, isSigned);
  shiftLeft64(f, top, bottom, above);
  shiftRight64(f, result, top, above, isSigned);
  f.copy(d, Value::of(result));
}

/// bfi: b with the `length` bits at `position` replaced by the lowest bits of a.
void lowerBfi(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  IsaOperand a = f.inReg(f.source(ops[1], type)), b = f.inReg(f.source(ops[2], type));
  IsaOperand position = lowByte(f, ops[3]), length = lowByte(f, ops[4]), d = f.dest(ops[0]);
  if (bitWidth(type) == 32) {
    IsaOperand shifted = f.newR(), mask = f.newR();
    shiftLeft(f, shifted, a, position);
    f.emit(IsaOp::BMSK, {mask, f.inReg(position), length});
    lop3(f, d, shifted, mask, b, kChoose);
    return;
  }
  // `length` ones at the position. All ones shifted right leave `length` ones at the bottom.
  IsaOperand ones = f.newR(2), low = f.newR(2), mask = f.newR(2), shifted = f.newR(2), result = f.newR(2);
  f.copy(ones, Value::constant(~std::uint64_t{0}, 2));
  shiftRight64(f, low, ones, bitsAbove(f, length), false);
  shiftLeft64(f, mask, low, position);
  shiftLeft64(f, shifted, a, position);
  for (unsigned w = 0; w < 2; ++w)
    lop3(f, ori::component(result, w), ori::component(shifted, w), ori::component(mask, w), ori::component(b, w),
         kChoose);
  f.copy(d, Value::of(result));
}

namespace {

/// p := a `cmp` b; the default is a < b.
IsaOperand compared(FunctionLowering& f, IsaOperand a, IsaOperand b, isa::ICmp cmp, isa::IntType type) {
  const IsaOperand p = f.newP();
  f.emit(IsaOp::ISETP, {p, IsaOperand::pt(), a, b, IsaOperand::pt()},
         {{IsaMod::Cmp, cmp}, {IsaMod::Type, type}, {IsaMod::Bool, isa::BoolOp::AND}});
  return p;
}

IsaOperand chosen(FunctionLowering& f, IsaOperand p, IsaOperand yes, IsaOperand no) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::SEL, {r, f.inReg(yes), no, p});
  return r;
}

} // namespace

/// fns: the position of the n-th set bit, counting from a base upward, or downward for n < 0; for n = 0 the base
/// itself, if set. The downward search works on the mirrored value. Bits below the base are masked. A binary search on
/// bit counts of halves finds the n-th of the others.
void lowerFns(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  const IsaOperand mask = f.sourceReg(ops[1], Type::B32), base = f.sourceReg(ops[2], Type::U32),
                   n = f.sourceReg(ops[3], Type::S32), zero = IsaOperand::rz(), none = IsaOperand::pt();
  const auto add = [&](IsaOperand a, IsaOperand b) {
    const IsaOperand r = f.newR();
    f.emit(IsaOp::IADD3, {r, none, none, f.inReg(a), b, zero});
    return r;
  };
  const auto shift = [&](IsaOperand word, IsaOperand by, isa::ShiftDir direction) {
    const IsaOperand r = f.newR();
    const bool isRight = direction == isa::ShiftDir::R;
    f.emit(IsaOp::SHF, {r, isRight ? zero : f.inReg(word), by, isRight ? word : zero},
           {{IsaMod::ShiftDir, direction}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, isRight ? 1 : 0}});
    return r;
  };
  const auto both = [&](IsaOperand a, IsaOperand b) {
    const IsaOperand r = f.newR();
    f.emit(IsaOp::LOP3, {none, r, a, b, zero, f.imm(0xc0), none.notted()});
    return r;
  };
  const IsaOperand isDown = compared(f, n, zero, isa::ICmp::LT, isa::IntType::S32),
                   isBase = compared(f, n, zero, isa::ICmp::EQ, isa::IntType::S32);
  const IsaOperand mirrored = f.newR();
  f.emit(IsaOp::BREV, {mirrored, mask});
  const IsaOperand from = chosen(f, isDown, add(f.imm(31), base.negated()), base);
  const IsaOperand minus = f.newR();
  f.emit(IsaOp::IADD3, {minus, none, none, zero, n.negated(), zero});
  const IsaOperand wanted = chosen(f, isBase, f.imm(1), chosen(f, isDown, minus, n));
  IsaOperand bits = both(chosen(f, isDown, mirrored, mask), shift(f.imm(-1), from, isa::ShiftDir::L));
  const IsaOperand all = f.newR();
  f.emit(IsaOp::POPC, {all, bits});
  const IsaOperand isMissing = compared(f, all, wanted, isa::ICmp::LT, isa::IntType::U32);
  IsaOperand left = wanted, place = zero;
  for (const unsigned width : {16u, 8u, 4u, 2u, 1u}) {
    const IsaOperand count = f.newR();
    f.emit(IsaOp::POPC, {count, both(bits, f.inReg(f.imm((std::int64_t{1} << width) - 1)))});
    const IsaOperand isAbove = compared(f, count, left, isa::ICmp::LT, isa::IntType::U32);
    left = chosen(f, isAbove, add(left, count.negated()), left);
    bits = chosen(f, isAbove, shift(bits, f.imm(width), isa::ShiftDir::R), bits);
    place = chosen(f, isAbove, add(f.imm(width), place), place);
  }
  const IsaOperand there = chosen(f, isDown, add(f.imm(31), place.negated()), place);
  // For n = 0 the result is the base or nothing. Any other bit found is discarded.
  const IsaOperand isOther = compared(f, there, base, isa::ICmp::NE, isa::IntType::U32);
  const IsaOperand found = chosen(f, isMissing, f.imm(-1), there);
  const IsaOperand isWrong = f.newP();
  constexpr int kBoth = 0xc0; // the first two of three predicates
  f.emit(IsaOp::PLOP3, {isWrong, none, isBase, isOther, none, f.imm(kBoth), f.imm(0)});
  f.emit(IsaOp::SEL, {f.dest(ops[0]), f.inReg(f.imm(-1)), found, isWrong});
}

void lowerBmsk(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  IsaOperand position = f.sourceReg(ops[1], Type::U32), length = f.source(ops[2], Type::U32).word(0);
  f.emit(IsaOp::BMSK, {f.dest(ops[0]), position, length}, {{IsaMod::Wrap, form.has(Mod::Wrap) ? 1 : 0}});
}

void lowerSzext(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool isSigned = typeClass(form.type()) == TypeClass::Signed;
  IsaOperand a = f.sourceReg(ops[1], Type::U32), length = f.source(ops[2], Type::U32).word(0);
  f.emit(
      IsaOp::SGXT, {f.dest(ops[0]), a, length},
      {{IsaMod::Wrap, form.has(Mod::Wrap) ? 1 : 0}, {IsaMod::Type, isSigned ? isa::IntType::S32 : isa::IntType::U32}});
}

void lowerPrmt(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  isa::PrmtMode mode = isa::PrmtMode::Index;
  switch (form.mode()) {
  case Mod::F4e: mode = isa::PrmtMode::F4E; break;
  case Mod::B4e: mode = isa::PrmtMode::B4E; break;
  case Mod::Rc8: mode = isa::PrmtMode::RC8; break;
  case Mod::Ecl: mode = isa::PrmtMode::ECL; break;
  case Mod::Ecr: mode = isa::PrmtMode::ECR; break;
  case Mod::Rc16: mode = isa::PrmtMode::RC16; break;
  default: break;
  }
  auto word = [&](unsigned k) { return f.source(ops[k], Type::B32).word(0); };
  // In the instruction the selector is between the sources.
  IsaOperand a = f.inReg(word(1)), b = f.inReg(word(2)), selector = word(3);
  f.emit(IsaOp::PRMT, {f.dest(ops[0]), a, selector, b}, {{IsaMod::PrmtMode, mode}});
}

} // namespace orias::ptx
